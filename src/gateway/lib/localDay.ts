/** The local date at a time, ms since 1970, as the number of days since 1970-01-01. */
export type LocalDay = (at: number) => number

const DAY_MS = 86_400_000
/** The latest time of a Date, ms since 1970. */
const MAX_TIME = 8.64e15
/** The most days (UTC) whose offsets are remembered. */
const MAX_DAYS = 5_000
/** The most zones that are remembered. */
const MAX_ZONES = 100

/** The offset of a zone on one day (UTC): it changes once at most. */
type Offset = {
  /** When it changes, ms since 1970. Infinity if it does not. */
  readonly changesAt: number
  /** Local time minus UTC, ms. */
  readonly before: number
  readonly after: number
}

const zones = new Map<string, LocalDay>()

/**
 * Finds dates of a time zone. Intl takes microseconds, so it is asked twice for each day (UTC), and some times more if
 * the offset changes on it, not for each time.
 *
 * @param timeZone A name that Intl knows.
 */
export function localDayOf(timeZone: string): LocalDay {
  const known = zones.get(timeZone)
  if (known) return known
  const found = createLocalDay(timeZone)
  if (zones.size >= MAX_ZONES) zones.clear()
  zones.set(timeZone, found)
  return found
}

function createLocalDay(timeZone: string): LocalDay {
  if (timeZone === 'UTC') return (at) => Math.floor(at / DAY_MS)
  const format = new Intl.DateTimeFormat('en-US', {
    ...{ timeZone, calendar: 'gregory', numberingSystem: 'latn', hourCycle: 'h23', era: 'short' },
    ...{ year: 'numeric', month: 'numeric', day: 'numeric' },
    ...{ hour: 'numeric', minute: 'numeric', second: 'numeric' },
  })
  const offsets = new Map<number, Offset>()
  let lastDay = Number.NaN
  let last: Offset = { changesAt: Number.POSITIVE_INFINITY, before: 0, after: 0 }

  /** @param at A whole second. */
  function offsetAt(at: number): number {
    const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, value]))
    const number = (type: Intl.DateTimeFormatPartTypes) => Number(parts.get(type))
    const year = parts.get('era') === 'BC' ? 1 - number('year') : number('year')
    const local = new Date(0)
    local.setUTCFullYear(year, number('month') - 1, number('day'))
    local.setUTCHours(number('hour'), number('minute'), number('second'))
    return local.getTime() - at
  }

  function findOffset(day: number): Offset {
    let [from, to] = [day * DAY_MS, (day + 1) * DAY_MS]
    const isDate = Math.abs(from) < MAX_TIME - DAY_MS
    const before = isDate ? offsetAt(from) : 0
    const after = isDate ? offsetAt(to) : 0
    if (before === after) return { changesAt: Number.POSITIVE_INFINITY, before, after }
    // Offsets change at whole seconds.
    while (to - from > 1_000) {
      const middle = from + Math.floor((to - from) / 2_000) * 1_000
      if (offsetAt(middle) === before) from = middle
      else to = middle
    }
    return { changesAt: to, before, after }
  }

  return (at) => {
    const day = Math.floor(at / DAY_MS)
    if (day !== lastDay) {
      last = offsets.get(day) ?? findOffset(day)
      if (offsets.size >= MAX_DAYS) offsets.clear()
      offsets.set(day, last)
      lastDay = day
    }
    return Math.floor((at + (at < last.changesAt ? last.before : last.after)) / DAY_MS)
  }
}
