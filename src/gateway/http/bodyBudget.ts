import type { ServerResponse } from 'node:http'

/** A head and its body are not counted up to this together, bytes. The limit of connections bounds their memory. */
export const SMALL_BYTES = 16_384
/** One address may hold this share of the budget. */
const SHARE_OF_ONE = 1 / 4

/** Default of all larger ones together, bytes. */
export const DEFAULT_BODY_BUDGET_BYTES = 32 * 2 ** 20

/** The share of one request in the budget. */
export type Lease = {
  /**
   * Reserves more bytes. Call it before they are received.
   *
   * @returns False if there is no room. Then nothing more is reserved.
   */
  grow(bytes: number): boolean
  /** Releases all of it. */
  release(): void
}

/** The memory of larger heads, bodies and answers, all connections together. */
export type BodyBudget = {
  /** @param address Of the sender. */
  lease(address: string): Lease
}

/** @param maxBytes Default 32 MiB. */
export function createBodyBudget(maxBytes = DEFAULT_BODY_BUDGET_BYTES): BodyBudget {
  const byAddress = new Map<string, number>()
  let total = 0

  function add(address: string, bytes: number): void {
    total += bytes
    const own = (byAddress.get(address) ?? 0) + bytes
    if (own > 0) byAddress.set(address, own)
    else byAddress.delete(address)
  }

  return {
    lease(address) {
      let held = 0
      return {
        grow(bytes) {
          const own = byAddress.get(address) ?? 0
          // The share does not limit the only request of an address, and the total does not limit the only one of all.
          // Otherwise the largest body would never fit.
          if (own > held && own + bytes > maxBytes * SHARE_OF_ONE) return false
          if (total > held && total + bytes > maxBytes) return false
          held += bytes
          add(address, bytes)
          return true
        },
        release() {
          if (held > 0) add(address, -held)
          held = 0
        },
      }
    },
  }
}

/**
 * Reserves memory for the body of a request, and for its answer if that is larger: both are never in memory at once. The
 * head of the request, which is in memory until the end, is added.
 *
 * @param bytes Length of the body. What was reserved before for the same request counts towards it.
 * @returns False if the budget has no room. Then nothing more is reserved.
 */
export type Reserve = (bytes: number) => boolean

/**
 * Reserves memory for one request, which is released when its response closes. Once it is closed, nothing is reserved:
 * the sender has gone, and no further `close` would release it.
 *
 * @param addressOf Address of the sender. Called only for larger ones.
 * @param headBytes Length of the head of the request.
 */
export function createReserve(
  budget: BodyBudget,
  response: Pick<ServerResponse, 'once' | 'closed'>,
  addressOf: () => string,
  headBytes: number,
): Reserve {
  let grow: ((bytes: number) => boolean) | undefined
  let reserved = SMALL_BYTES
  return (bytes) => {
    const wanted = headBytes + bytes
    if (wanted <= reserved || response.closed) return true
    if (!grow) {
      const lease = budget.lease(addressOf())
      response.once('close', lease.release)
      grow = lease.grow
      reserved = 0
    }
    const isRoom = grow(wanted - reserved)
    if (isRoom) reserved = wanted
    return isRoom
  }
}
