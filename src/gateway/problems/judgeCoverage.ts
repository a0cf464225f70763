import type { Coverage } from '../../contract/problems.ts'
import { OPERATION_NAMES } from './operations.ts'
import { type CoverageHistory, type OperationTotal, SLOT_MS, SLOTS_PER_HOUR } from './problems.ts'

const DAY = 24 * SLOTS_PER_HOUR
const WEEK = 7 * DAY
const DAY_MS = 86_400_000
/** Windows that are compared, hours: the first one in which enough events were to be expected decides. */
const WINDOWS = [1, 2, 4, 8, 12, 24, 72, 168]
/** Visits that must have been expected before silence means something. By chance none comes once in three million times. */
const MIN_FOR_STOPPED = 15
/** The same before few events mean something. */
const MIN_FOR_FEWER = 30
/** At most this share of what was expected is `fewer`. */
const FEW = 0.2
/** From this number of visits on, an absence can not be chance. */
const CERTAIN = 40
/** Events of a visit, if it can not be estimated: more than most have. */
const EVENTS_OF_VISIT = 4
/** The part of a window in which a gateway must have run. */
const MIN_OBSERVED = 0.8
/** Days that an operation must have been silent, if there is no week to compare with. */
const SILENT_DAYS = 3
/** Days that must have been observed if the same weekday was not. */
const MIN_DAYS = 4
/** Days of the week to compare with on which an operation must have come: an import now and then is no habit. */
const MIN_ACTIVE_DAYS = 4
/** The same share of all days since the operation came first. */
const MIN_ACTIVE_SHARE = 0.5

/** What a window shows of an operation. */
type Finding = {
  readonly hours: number
  readonly came: number
  readonly expected: number
  /** What was expected, in visits. */
  readonly visits: number
  readonly state: 'comes' | 'fewer' | 'stopped'
}

/**
 * How each of the eleven operations comes. The rule is in docs/problems.md, "When an operation counts as stopped".
 *
 * @param now ms since 1970, in the last slot of the history.
 */
export function judgeCoverage(history: CoverageHistory, now: number): Coverage[] {
  const { since, from, observed, events, totals } = history
  const end = now / SLOT_MS - from
  const ran = createSums(observed)
  const none = observed.map(() => 0)
  const all = [...none]
  for (const counts of events.values())
    for (let i = 0; i < all.length; i++) all[i] = (all[i] as number) + (counts[i] ?? 0)
  const nothing = createSums(none)
  const window = { ran, end, age: (now - since) / SLOT_MS }
  const total = createSums(all, observed)
  const traffic = findFinding(total, window, () => 1)

  return OPERATION_NAMES.map((operation): Coverage => {
    const counts = events.get(operation)
    const sums = counts ? createSums(counts, observed) : nothing
    const stored = totals.find((one) => one.operation === operation)
    let rest: Sums | undefined
    const restOf = (): Sums => {
      rest ??= createSums(
        all.map((count, i) => count - (counts?.[i] ?? 0)),
        observed,
      )
      return rest
    }
    // On a day with few visitors all operations come less. Unless they are so few that this is worth a warning itself.
    const scale =
      !traffic || traffic.state === 'comes'
        ? (hours: number) => shareOf(restOf(), window, hours)
        : () => 1
    const finding = findFinding(sums, window, scale) ?? findSilence(sums, stored, window, now)
    const state = stored ? (finding?.state ?? 'comes') : 'never'
    const days = [1, 2, 3, 4, 5, 6, 7]
      .filter((day) => isObserved(window, SLOTS_PER_HOUR, day * DAY))
      .map((day) => sums.between(end - day * DAY - SLOTS_PER_HOUR, end - day * DAY))
    const numbers = {
      first: stored ? iso(stored.first) : null,
      last: stored ? iso(stored.last) : null,
      hour: Math.round(sums.after(end - SLOTS_PER_HOUR)),
      usual: days.length > 0 ? Math.round((sum(days) / days.length) * 10) / 10 : null,
      week: Math.round(sums.after(end - WEEK)),
    }
    const isEverything = traffic !== undefined && traffic.state !== 'comes'
    const message = putInWords({ state, finding, numbers, since, now, isEverything })
    return { operation, ...numbers, state, message }
  })
}

/** Sums of a list of counts, one for each slot. A part of a slot counts as that part of its events. */
type Sums = {
  between(from: number, to: number): number
  /** Up to the end: the events of the last slot have all come already, although it is not over. */
  after(from: number): number
  /**
   * About how many events come at once, at least 1: the index of dispersion, from the differences between neighbouring
   * slots. Visitors who make ten events each come as irregularly as single events of which there are a tenth.
   */
  readonly clump: number
}

function createSums(counts: readonly number[], observed: readonly number[] = []): Sums {
  const until = [0]
  for (const count of counts) until.push((until.at(-1) as number) + count)
  let squares = 0
  let both = 0
  for (let i = 1; i < counts.length; i++) {
    if (!observed[i] || !observed[i - 1]) continue
    const [one, next] = [counts[i - 1] as number, counts[i] as number]
    squares += (next - one) ** 2
    both += one + next
  }
  const at = (place: number): number => {
    const whole = Math.min(Math.max(Math.floor(place), 0), counts.length)
    const part = place > whole ? Math.min(place - whole, 1) : 0
    return (until[whole] as number) + part * (counts[whole] ?? 0)
  }
  return {
    between: (from, to) => at(to) - at(from),
    after: (from) => (until.at(-1) as number) - at(from),
    clump: both > 0 ? Math.max(1, squares / both) : 1,
  }
}

type Window = {
  readonly ran: Sums
  /** The time now, in slots from the begin of the history. */
  readonly end: number
  /** How long events have been counted, slots. */
  readonly age: number
}

/** Whether a gateway ran during a window, so that its events could come. */
const isObserved = ({ ran, end }: Window, slots: number, ago: number): boolean =>
  ran.between(end - ago - slots, end - ago) >= slots * MIN_OBSERVED

/**
 * How many events were to be expected in the last hours: what came in the same hours of the seven days before (for
 * windows above a day: of the week before), cautiously. Undefined if that is not known.
 */
function expect(sums: Sums, window: Window, hours: number): number | undefined {
  const slots = hours * SLOTS_PER_HOUR
  const { end, age } = window
  // The first week has no weekend to compare with.
  if (age < WEEK + slots + SLOTS_PER_HOUR || !isObserved(window, slots, 0)) return undefined
  const days = hours <= 24 ? [1, 2, 3, 4, 5, 6, 7] : [7]
  /** The smallest of the same time, an hour earlier and an hour later: clocks change, and nights are not sharp. */
  const came = (day: number): number =>
    Math.min(
      ...[-SLOTS_PER_HOUR, 0, SLOTS_PER_HOUR].map((shift) => {
        const to = end - day * DAY + shift
        return sums.between(to - slots, to)
      }),
    )
  const known = days.filter((day) => isObserved(window, slots, day * DAY))
  const counts = known.map(came).sort((a, b) => a - b)
  const sameWeekday = known.includes(7) ? came(7) : undefined
  if (hours > 24) return isHabit(sums, end) ? sameWeekday : undefined
  if (sameWeekday === undefined) return counts.length >= MIN_DAYS ? counts[0] : undefined
  return Math.min(sameWeekday, counts[Math.floor((counts.length - 1) / 3)] as number)
}

/** Whether events came on most days of the week before the last. */
function isHabit(sums: Sums, end: number): boolean {
  const days = [7, 8, 9, 10, 11, 12, 13].filter(
    (day) => sums.between(end - (day + 1) * DAY, end - day * DAY) > 0,
  )
  return days.length >= MIN_ACTIVE_DAYS
}

/** How many of the expected events of the other operations have come, at most 1. */
function shareOf(rest: Sums, window: Window, hours: number): number {
  const expected = expect(rest, window, hours) ?? 0
  return expected / rest.clump < MIN_FOR_STOPPED
    ? 1
    : Math.min(1, rest.after(window.end - hours * SLOTS_PER_HOUR) / expected)
}

function findFinding(
  sums: Sums,
  window: Window,
  scale: (hours: number) => number,
): Finding | undefined {
  for (const hours of WINDOWS) {
    const usual = expect(sums, window, hours)
    if (usual === undefined || usual / sums.clump < MIN_FOR_STOPPED) continue
    const expected = usual * scale(hours)
    const visits = expected / sums.clump
    const came = Math.round(sums.after(window.end - hours * SLOTS_PER_HOUR))
    const found = { hours, came, expected, visits }
    if (came === 0 && visits >= MIN_FOR_STOPPED) return { ...found, state: 'stopped' }
    if (came > 0 && came >= expected * FEW) return { ...found, state: 'comes' }
    if (came > 0 && visits >= MIN_FOR_FEWER) return { ...found, state: 'fewer' }
  }
  return undefined
}

/** What stopped longer ago than the weeks that are compared: it is judged by how often it came before that. */
function findSilence(
  sums: Sums,
  total: OperationTotal | undefined,
  { ran, end }: Window,
  now: number,
): Finding | undefined {
  if (!total || sums.after(end - WEEK) > 0) return undefined
  const lasted = (total.last - total.first) / DAY_MS
  if (lasted < 7 || total.days / lasted < MIN_ACTIVE_SHARE) return undefined
  const silent = (now - total.last) / SLOT_MS
  const observed = ran.between(end - Math.min(silent, 2 * WEEK), end)
  // A night or a weekend after a long time without a gateway is no silence.
  if (observed < SILENT_DAYS * DAY) return undefined
  const expected = (total.events / lasted) * (observed / DAY)
  const hours = Math.floor(silent / SLOTS_PER_HOUR)
  const visits = expected / EVENTS_OF_VISIT
  return visits >= MIN_FOR_STOPPED
    ? { hours, came: 0, expected, visits, state: 'stopped' }
    : undefined
}

type Described = {
  readonly state: Coverage['state']
  readonly finding: Finding | undefined
  readonly numbers: Pick<Coverage, 'last' | 'hour' | 'usual' | 'week'>
  readonly since: number
  readonly now: number
  readonly isEverything: boolean
}

function putInWords({ state, finding, numbers, since, now, isEverything }: Described): string {
  if (state === 'never') return `Not one since ${day(since)}, when the counting began.`
  if (finding && state !== 'comes') {
    const { hours, came, expected, visits } = finding
    const span = spanOf(hours)
    const number = Math.floor(expected)
    const sure =
      visits >= CERTAIN
        ? 'So many are not missing by chance.'
        : 'That is unlikely to be chance, but possible.'
    const others = isEverything
      ? ' All operations together come much less too: the script may be missing in pages, or it is a day with few visitors.'
      : ''
    return state === 'stopped'
      ? `None in the last ${span}, where at least ${number} were to be expected. ${sure} The last one came on ${numbers.last?.slice(0, 16).replace('T', ' at ')} UTC.${others}`
      : `${came} in the last ${span}, where at least ${number} were to be expected. ${sure}${others}`
  }
  if (finding) return 'As usual.'
  if (now - since < 8 * DAY_MS)
    return `Counted since ${day(since)}. From ${day(since + 8 * DAY_MS)} on it is compared with the week before.`
  return `Too few to say whether they still come as usual: ${numbers.week} in the last seven days.`
}

const spanOf = (hours: number): string =>
  hours === 1 ? 'hour' : hours <= 48 ? `${hours} hours` : `${Math.floor(hours / 24)} days`
const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0)
const iso = (at: number): string => new Date(at).toISOString()
const day = (at: number): string => iso(at).slice(0, 10)
