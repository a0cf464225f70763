import type { IncomingMessage } from 'node:http'

/** Bodies up to this need no place in the budget, bytes: the bound on connections bounds them. */
export const SMALL_BODY_BYTES = 16_384
/** What a body of unknown length counts as, bytes. */
const UNKNOWN_BODY_BYTES = 2 ** 20
/** One address may hold this share of the budget. */
const SHARE_OF_ONE = 1 / 4

/** The default of all larger bodies that are being received, bytes. */
export const DEFAULT_BODY_BUDGET_BYTES = 64 * 2 ** 20

/** The memory that larger request bodies may take while they arrive, all connections together. */
export type BodyBudget = {
  /**
   * Reserves a body's bytes before anything of it is read.
   *
   * @param address Whose body it is.
   * @returns Gives them back, once however often it is called; undefined where there is no room.
   */
  reserve(bytes: number, address: string): (() => void) | undefined
}

/** The bytes a request announces; a body of unknown length counts as 1 MiB. */
export function bodyBytesOf({ headers }: Pick<IncomingMessage, 'headers'>): number {
  const declared = headers['content-length']
  if (declared !== undefined) return Number(declared)
  return headers['transfer-encoding'] === undefined ? 0 : UNKNOWN_BODY_BYTES
}

/** @param maxBytes Default 64 MiB. */
export function createBodyBudget(maxBytes = DEFAULT_BODY_BUDGET_BYTES): BodyBudget {
  const byAddress = new Map<string, number>()
  let total = 0

  return {
    reserve(bytes, address) {
      const own = byAddress.get(address) ?? 0
      // The only body of an address fits whatever its size: else the largest would fit never.
      const isOverShare = own > 0 && own + bytes > maxBytes * SHARE_OF_ONE
      if (isOverShare || (total > 0 && total + bytes > maxBytes)) return undefined
      total += bytes
      byAddress.set(address, own + bytes)
      let isReserved = true
      return () => {
        if (!isReserved) return
        isReserved = false
        total -= bytes
        const left = (byAddress.get(address) ?? 0) - bytes
        if (left > 0) byAddress.set(address, left)
        else byAddress.delete(address)
      }
    },
  }
}
