/**
 * UUIDs from getRandomValues, since `crypto.randomUUID` is missing on pages served by http.
 */

/** A version 4 UUID: tells nothing. */
export function uuid4(): string {
  const random = crypto.getRandomValues(new Uint8Array(36))
  return '10000000-1000-4000-8000-100000000000'.replace(/[018]/g, (digit, at) =>
    (+digit ^ ((random[at] as number) & (15 >> (+digit / 4)))).toString(16),
  )
}

let last = 0

/**
 * A version 7 UUID (RFC 9562): sorts by time and, on a page, by call. Of calls in the same millisecond,
 * or while the clock steps back, each takes the millisecond after the last one's.
 *
 * @param at ms since 1970.
 */
export function uuid7(at: number): string {
  last = Math.max(at, last + 1)
  const time = last.toString(16).padStart(12, '0').replace(/.{8}/, '$&-')
  return `${time}-7${uuid4().slice(15)}`
}
