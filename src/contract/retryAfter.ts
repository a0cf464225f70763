/**
 * Reads the header `Retry-After`: seconds or a date (RFC 9110, 10.2.3).
 *
 * @param value Without white space at its ends.
 * @param now ms since 1970.
 * @returns ms from now, below 0 for a date in the past; 0 if it is neither.
 */
export function readRetryAfter(value: string, now: number): number {
  if (/^\d+$/.test(value)) return Number(value) * 1000
  // All three forms of a date begin with the name of a day. Date.parse alone reads "-5" as a year.
  if (!/^(mon|tue|wed|thu|fri|sat|sun)/i.test(value)) return 0
  // The oldest form has no zone and means GMT.
  return Date.parse(/gmt$/i.test(value) ? value : `${value} GMT`) - now || 0
}
