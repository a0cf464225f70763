/*
 * UUIDs (RFC 9562) from getRandomValues, because pages served by http have no `crypto.randomUUID`.
 */

/** A version 4 UUID: random. */
export function uuid4(): string {
  const random = crypto.getRandomValues(new Uint8Array(36))
  return '10000000-1000-4000-8000-100000000000'.replace(/[018]/g, (digit, at) =>
    (+digit ^ ((random[at] as number) & (15 >> (+digit / 4)))).toString(16),
  )
}

let last = 0

/**
 * A version 7 UUID: sorts by time, and on a page by call. If the time is not after that of the last call, the
 * millisecond after it is used.
 *
 * @param at Time, ms since 1970.
 */
export function uuid7(at: number): string {
  last = Math.max(at, last + 1)
  const time = last.toString(16).padStart(12, '0').replace(/.{8}/, '$&-')
  return `${time}-7${uuid4().slice(15)}`
}
