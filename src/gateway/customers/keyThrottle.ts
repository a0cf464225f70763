import { LRUCache } from 'lru-cache'
import { networkOf } from '../http/address.ts'
import type { Refusal } from '../http/answers.ts'

/** Limits wrong keys. */
export type KeyThrottle = {
  /**
   * Counts a wrong key and returns its refusal: 401; or 429 with Retry-After from the eleventh of one address for one
   * customer on, and if too many come from one address or for one customer. Retry-After is 1 second at first and grows
   * to 5.
   *
   * @param address Of the sender.
   * @param customerId The customer id that was sent. The customer may not exist.
   * @param message Why the key is refused.
   */
  refuseWrong(address: string, customerId: string, message: string): Refusal
}

/** How many wrong keys may come at once. After that, one may come every `forgetMs`. */
type Limit = { readonly burst: number; readonly forgetMs: number }

/** For one address and one customer: enough for a mistyped key, or a server that still has an old one. */
export const PAIR: Limit = { burst: 10, forgetMs: 1_000 }
/**
 * For one address, and for one customer: enough for all senders behind a proxy, and for all servers with an old key.
 */
export const ONE: Limit = { burst: 100, forgetMs: 100 }
/** The longest wait, ms. */
const MAX_WAIT_MS = 5_000
/** The most buckets in memory, of each limit. */
const MAX_ENTRIES = 10_000
/** Longer customer ids are cut, UTF-16 code units. */
const MAX_ID_LENGTH = 64

/**
 * Counts wrong keys for each pair of address and customer and, with higher limits, for each address and each customer.
 *
 * A right key is never refused: callers compare every key, and count only the wrong ones. If comparisons were limited,
 * a stranger behind the same proxy could lock the operators out. A comparison costs one SHA-256, and no answer is
 * delayed, so a flood of wrong keys holds neither connections nor memory. The throttle does not prevent guessing. The
 * length of the keys does: 256 random bits for the gateway's own, and at least 16 characters for those that an operator
 * brings.
 *
 * @param now A monotonic clock, ms.
 */
export function createKeyThrottle(now: () => number): KeyThrottle {
  const countPair = createCounter(PAIR, now)
  const countAddress = createCounter(ONE, now)
  const countCustomer = createCounter(ONE, now)

  return {
    refuseWrong(address, customerId, message) {
      const network = networkOf(address)
      const customer = customerId.slice(0, MAX_ID_LENGTH)
      const waitMs = Math.max(
        countPair(`${network} ${customer}`),
        countAddress(network),
        countCustomer(customer),
      )
      if (waitMs === 0) return { ok: false, status: 401, message }
      const retryAfterSeconds = Math.ceil(waitMs / 1_000)
      return {
        ok: false,
        status: 429,
        retryAfterSeconds,
        message: `${message}, and too many wrong keys were sent. Try again in ${retryAfterSeconds} s`,
      }
    },
  }
}

/**
 * A leaky bucket for each key. Adds one and returns how long the sender should wait, ms: 0 while the bucket has room.
 */
function createCounter({ burst, forgetMs }: Limit, now: () => number): (key: string) => number {
  /** When each bucket will be empty, ms. */
  const emptyAt = new LRUCache<string, number>({ max: MAX_ENTRIES })
  const fullMs = burst * forgetMs

  return (key) => {
    const at = now()
    const before = Math.max((emptyAt.get(key) ?? at) - at, 0)
    const level = Math.min(before + forgetMs, fullMs + MAX_WAIT_MS)
    emptyAt.set(key, at + level)
    return Math.max(0, level - fullMs)
  }
}
