/** Bodies up to this need no place in the budget, bytes: the bound on connections bounds them. */
export const SMALL_BODY_BYTES = 16_384
/** One address may hold this share of the budget. */
const SHARE_OF_ONE = 1 / 4

/** The default of all larger bodies that are held, bytes. */
const DEFAULT_BODY_BUDGET_BYTES = 32 * 2 ** 20

/** What one body holds of the budget. */
export type Lease = {
  /**
   * Takes more bytes, before they are received.
   *
   * @returns False where there is no room; then nothing more is taken.
   */
  grow(bytes: number): boolean
  /** Gives all of it back. */
  release(): void
}

/** The memory that larger request bodies may take, all connections together. */
export type BodyBudget = {
  /** @param address Whose body it is. */
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
          // The only body, of all or of an address, fits whatever its size: else the largest would fit never.
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
