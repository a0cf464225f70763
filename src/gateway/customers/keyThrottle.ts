import { LRUCache } from 'lru-cache'
import { networkOf } from '../http/address.ts'
import type { Refusal } from '../http/answers.ts'

/** Slows down senders of wrong keys. */
export type KeyThrottle = {
  /**
   * Counts a wrong key and answers its refusal: 401, or 429 with Retry-After from the eleventh of an address for
   * a customer on, and where too many come from one address or for one customer. The wait is 1 second at first
   * and grows to 5.
   *
   * @param address The sender's.
   * @param customerId Whose key was expected, as it was sent: there may be no such customer.
   * @param message What is wrong, for people.
   */
  refuseWrong(address: string, customerId: string, message: string): Refusal
}

/** So many wrong keys at once, then one each `forgetMs`. */
type Limit = { readonly burst: number; readonly forgetMs: number }

/** Room for a mistyped key, or for a server that still has an old one. */
const PAIR: Limit = { burst: 10, forgetMs: 1_000 }
/** Room for everybody behind one proxy, and for all servers of one customer after its key was changed. */
const ONE: Limit = { burst: 100, forgetMs: 100 }
/** The longest wait, ms. */
const MAX_WAIT_MS = 5_000
/** Entries of each limit. The least recently counted one is forgotten first. */
const MAX_ENTRIES = 10_000
/** Longer customer ids are counted by their first characters, UTF-16 code units. */
const MAX_ID_LENGTH = 64

/**
 * Counts wrong keys by address and customer, and more loosely by each of both.
 *
 * A good key is never refused. Callers compare every key and count only the wrong ones: requests from one address
 * for one customer differ in nothing but the key, so a limit on comparisons would let a stranger behind the same
 * proxy lock the operators out. A comparison costs one SHA-256, and no answer is delayed, so a flood holds neither
 * connections nor memory. It follows that the throttle does not stop guessing. The length of the keys does: 256
 * random bits of the gateway's own, at least 16 characters of those that were brought along.
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
        ...{ ok: false, status: 429, retryAfterSeconds },
        message: `${message}, and too many wrong keys were sent. Try again in ${retryAfterSeconds} s`,
      }
    },
  }
}

/**
 * A leaky bucket for each key. Counts one more and answers how long its sender should wait, ms: 0 while the bucket
 * has room.
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
