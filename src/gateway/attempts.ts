import { networkOf } from './address.ts'

/** How often an address may fail at something. */
export type Attempts = {
  /** Seconds until the address may try again; 0 when it may now. */
  waitSeconds(address: string): number
  failed(address: string): void
}

const MAX_ADDRESSES = 10_000

/**
 * A bucket an address, which holds `max` failures and forgets one every `forgetMs`.
 *
 * @param now The clock, ms since 1970.
 */
export function createAttempts(max: number, forgetMs: number, now: () => number): Attempts {
  /** When the bucket of an address will be empty, ms since 1970. */
  const emptyAt = new Map<string, number>()

  return {
    waitSeconds(address) {
      const full = (emptyAt.get(networkOf(address)) ?? 0) - (max - 1) * forgetMs
      return Math.max(0, Math.ceil((full - now()) / 1000))
    },
    failed(address) {
      const key = networkOf(address)
      const level = Math.max(emptyAt.get(key) ?? 0, now()) + forgetMs
      emptyAt.delete(key)
      for (const [oldest, at] of emptyAt) {
        if (at > now() && emptyAt.size < MAX_ADDRESSES) break
        emptyAt.delete(oldest)
      }
      emptyAt.set(key, level)
    },
  }
}
