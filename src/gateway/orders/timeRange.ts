import type { Issue } from '../../contract/index.ts'
import { localDayOf } from '../lib/localDay.ts'

/** Times of arrival, ms since 1970: from the first one on, up to before the second one. */
export type TimeRange = { readonly from: number; readonly to: number }

/** The two ends as a query has them. */
export type GivenRange = {
  readonly date_from: string | null
  readonly date_to: string | null
}

const DAY_MS = 86_400_000
/** More than the offset of any time zone from UTC, ms. */
const MAX_OFFSET_MS = 26 * 3_600_000
/** Zones change their offset at whole seconds. */
const SECOND_MS = 1_000

const EXPECTED = 'Expected seconds since 1970, or a date as YYYY-MM-DD'

/**
 * Reads a range. Both ends are part of it: a date is the whole day in the customer's time zone, and seconds are one
 * second. Without an end it may begin in the future, since the shop's clock may be ahead; then nothing is in it.
 *
 * @param timeZone A name that Intl knows.
 * @param now Ms since 1970. A range without an end ends after it, and one without a beginning has all that is kept.
 */
export function readTimeRange(
  given: GivenRange,
  timeZone: string,
  now: number,
):
  | { readonly ok: true; readonly range: TimeRange }
  | { readonly ok: false; readonly issues: readonly Issue[] } {
  const issues: Issue[] = []
  const read = (path: keyof GivenRange, unset: TimeRange): TimeRange => {
    const text = given[path]?.trim()
    if (!text) return unset
    const found = readTime(text, timeZone)
    // The message leaves the value out, since a query may have anything in it.
    if (!found) issues.push({ path, message: EXPECTED })
    return found ?? unset
  }
  const { from } = read('date_from', { from: 0, to: 0 })
  const end = Math.max(now, from)
  const { to } = read('date_to', { from: end, to: end + 1 })
  if (issues.length === 0 && from >= to)
    issues.push({ path: 'date_to', message: 'Expected a time that is not before date_from' })
  return issues.length > 0 ? { ok: false, issues } : { ok: true, range: { from, to } }
}

function readTime(text: string, timeZone: string): TimeRange | undefined {
  if (/^\d{1,11}$/.test(text)) {
    const from = Number(text) * SECOND_MS
    return { from, to: from + SECOND_MS }
  }
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return undefined
  const at = Date.parse(`${text}T00:00:00Z`)
  // Such as 2027-02-30, which Date makes another day.
  if (Number.isNaN(at) || !new Date(at).toISOString().startsWith(text)) return undefined
  const day = at / DAY_MS
  return { from: startOf(day, timeZone), to: startOf(day + 1, timeZone) }
}

/**
 * When a day begins in a time zone, ms since 1970. Not always at midnight: some zones begin summer time then.
 *
 * @param day Days since 1970-01-01.
 */
function startOf(day: number, timeZone: string): number {
  const dayOf = localDayOf(timeZone)
  let [before, from] = [day * DAY_MS - MAX_OFFSET_MS, day * DAY_MS + MAX_OFFSET_MS]
  while (from - before > SECOND_MS) {
    const middle = before + Math.floor((from - before) / (2 * SECOND_MS)) * SECOND_MS
    if (dayOf(middle) < day) before = middle
    else from = middle
  }
  return from
}
