/** The highest count of calls in one millisecond: the counter has 12 bits. */
const MAX_COUNT = 0xfff

/**
 * Makes the ids of events: UUIDs of version 7 (RFC 9562, 5.7) in the order of the calls. If two calls fall in
 * the same millisecond, or the clock steps back, a counter goes up by one (6.2, method 1).
 *
 * @returns A function of the time, ms since 1970.
 */
export function createEventId(): (at: number) => string {
  let last = 0
  let count = 0
  return (at) => {
    const random = crypto.randomUUID()
    count = at > last ? Number.parseInt(random.slice(0, 3), 16) >> 1 : count + 1
    last = Math.max(at, last)
    if (count > MAX_COUNT) {
      last += 1
      count = 0
    }
    const time = toHex(last, 12)
    return `${time.slice(0, 8)}-${time.slice(8)}-7${toHex(count, 3)}${random.slice('xxxxxxxx-xxxx-xxxx'.length)}`
  }
}

const toHex = (value: number, digits: number) => value.toString(16).padStart(digits, '0')
