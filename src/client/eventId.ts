/** A list of bytes as `new Uint8Array` makes it, in the words of compilers old and new. */
type Bytes = ReturnType<typeof Uint8Array.of>

/** Fills a list with random bytes, as `crypto.getRandomValues` does. */
export type GetRandomValues = (bytes: Bytes) => unknown

/** Calls that share a millisecond: the counter has 12 bits. */
const MAX_COUNT = 0xfff

/**
 * Makes the ids of events: UUIDs of version 7 (RFC 9562, 5.7), in the order of the calls. Of calls in
 * the same millisecond, or while the clock steps back, each counts one up (6.2, method 1).
 *
 * @returns A function of the moment, ms since 1970. It throws where nothing random came.
 */
export function createEventId(getRandomValues: GetRandomValues): (at: number) => string {
  let last = 0
  let count = 0
  return (at) => {
    const random = new Uint8Array(10)
    getRandomValues(random)
    // Of real ones all are zero once in 2^80: it may have answered them in place of filling these.
    if (random.every((byte) => byte === 0)) throw new Error('getRandomValues left them empty')
    count = at > last ? (((random[0] as number) & 7) << 8) | (random[1] as number) : count + 1
    last = Math.max(at, last)
    if (count > MAX_COUNT) {
      last += 1
      count = 0
    }
    const variant = 0x80 | ((random[2] as number) & 0x3f)
    const rest = [variant, ...random.subarray(3)].map((byte) => toHex(byte, 2)).join('')
    return `${toHex(last, 12)}7${toHex(count, 3)}${rest}`.replace(
      /^(.{8})(.{4})(.{4})(.{4})/,
      '$1-$2-$3-$4-',
    )
  }
}

const toHex = (value: number, digits: number) => value.toString(16).padStart(digits, '0')
