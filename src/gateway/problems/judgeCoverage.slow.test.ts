import { expect, test } from 'vitest'
import { judgeCoverage } from './judgeCoverage.ts'
import { COVERAGE_DAYS, type CoverageHistory, SLOT_MS, SLOTS_PER_HOUR } from './problems.ts'

/*
 * Simulated shops: visitors come at random, by hour and weekday, and each makes several events. Every test asks at many
 * times, so a rule that cries wolf once in some weeks fails.
 */

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** A Monday, 00:00 UTC. */
const MONDAY = Date.UTC(2026, 5, 1)
const WEEKS = 6
const DAY_SLOTS = 24 * SLOTS_PER_HOUR

/** Random numbers that are the same in every run (mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Visitors by hour of the day: few at night, most in the evening. */
const HOURS = [1, 0.5, 0.3, 0.2, 0.2, 0.5, 1.5, 3, 4, 5, 5, 5, 6, 6, 5, 5, 5, 6, 7, 8, 9, 8, 5, 2.5]
const EVERY_DAY = [1, 1, 1, 1, 1, 1.2, 1.2]
const WEEKDAYS = [1, 1, 1, 1, 1, 0, 0]
const QUIET_NIGHTS = HOURS.map((share, hour) => (hour >= 7 ? share : 0))

type Shop = {
  /** Visitors on an average day. */
  readonly visitors: number
  readonly hours?: readonly number[]
  readonly week?: readonly number[]
  /** Shares of visitors that make an operation, and how many events each makes of it. */
  readonly operations?: Readonly<Record<string, readonly [share: number, events: number]>>
  /** Changes the visitors of a time. */
  readonly factor?: (at: number) => number
  /** Whether a gateway runs. */
  readonly isUp?: (at: number) => boolean
  /** Whether an operation is reported. */
  readonly works?: (operation: string, at: number) => boolean
  /** The clock of the shop's country, hours before UTC. */
  readonly offset?: (at: number) => number
}

const OPERATIONS = { viewHomepage: [1, 5], viewProduct: [0.7, 4], addToCart: [0.15, 1.5] } as const

/** All slots of a shop in WEEKS weeks. */
function simulate(shop: Shop, seed = 1) {
  const { visitors, hours = HOURS, week = EVERY_DAY, operations = OPERATIONS } = shop
  const { factor = () => 1, isUp = () => true, works = () => true, offset = () => 0 } = shop
  const random = createRandom(seed)
  const slots = WEEKS * 7 * DAY_SLOTS
  const observed = new Array<number>(slots).fill(0)
  const events = new Map(Object.keys(operations).map((name) => [name, [...observed]]))
  const total = hours.reduce((a, b) => a + b, 0)
  for (let slot = 0; slot < slots; slot++) {
    const at = MONDAY + slot * SLOT_MS
    if (!isUp(at)) continue
    observed[slot] = 1
    const local = new Date(at + offset(at) * HOUR_MS)
    const day = (local.getUTCDay() + 6) % 7
    const share = ((hours[local.getUTCHours()] ?? 0) / total) * (week[day] ?? 0) * factor(at)
    // Of a visitor each slot, by many small chances: a Poisson number.
    const mean = (visitors * share) / SLOTS_PER_HOUR
    let came = 0
    for (let left = mean; left > 0; left -= 0.05) if (random() < Math.min(left, 0.05)) came++
    for (let visitor = 0; visitor < came; visitor++)
      for (const [name, [part, number]] of Object.entries(operations)) {
        if (random() >= part || !works(name, at)) continue
        const counts = events.get(name) as number[]
        counts[slot] = (counts[slot] as number) + Math.max(1, Math.round(random() * 2 * number))
      }
  }
  return { observed, events }
}

/** What is stored at a time. */
function historyAt(
  { observed, events }: ReturnType<typeof simulate>,
  now: number,
): CoverageHistory {
  const newest = Math.floor((now - MONDAY) / SLOT_MS)
  const from = Math.max(0, newest - COVERAGE_DAYS * DAY_SLOTS - SLOTS_PER_HOUR)
  return {
    since: MONDAY + observed.indexOf(1) * SLOT_MS,
    from: MONDAY / SLOT_MS + from,
    observed: observed.slice(from, newest + 1),
    events: new Map([...events].map(([name, counts]) => [name, counts.slice(from, newest + 1)])),
    totals: [...events].flatMap(([operation, all]) => {
      const counts = all.slice(0, newest + 1)
      const first = counts.findIndex((count) => count > 0)
      const last = counts.length - 1 - [...counts].reverse().findIndex((count) => count > 0)
      return first < 0
        ? []
        : [
            {
              operation,
              first: MONDAY + first * SLOT_MS,
              last: MONDAY + last * SLOT_MS,
              events: counts.reduce((a, b) => a + b, 0),
              days: new Set(counts.flatMap((n, i) => (n > 0 ? [Math.floor(i / DAY_SLOTS)] : [])))
                .size,
            },
          ]
    }),
  }
}

/** The warnings of a time, such as `addToCart stopped`. */
const warningsAt = (shop: ReturnType<typeof simulate>, now: number): string[] =>
  judgeCoverage(historyAt(shop, now), now).flatMap(({ operation, state }) =>
    state === 'fewer' || state === 'stopped' ? [`${operation} ${state}`] : [],
  )

/** Times every 190 minutes, so that they are at all hours and at several minutes of an hour. */
function* times(from: number, to: number): Generator<number> {
  for (let at = from; at < to; at += 190 * 60_000) yield at
}

/** Every half hour of five days. */
function* everyHalfHour(from: number): Generator<number> {
  for (let at = from; at < from + 5 * DAY_MS; at += HOUR_MS / 2) yield at
}

const END = MONDAY + WEEKS * 7 * DAY_MS - SLOT_MS

const days = (count: number): number => MONDAY + count * DAY_MS
/** The clocks of Central Europe go back or forward an hour. */
const clockChange = (before: number, after: number) => (at: number) =>
  at < days(24) + HOUR_MS ? before : after

test.each<[string, Shop]>([
  ['a busy shop', { visitors: 20_000 }],
  ['a shop of 300 visitors a day', { visitors: 300 }],
  ['a shop of 60 visitors a day', { visitors: 60 }],
  ['a shop of 15 visitors a day', { visitors: 15 }],
  ['a shop of 3 visitors a day', { visitors: 3 }],
  ['a shop without visitors at night', { visitors: 2_000, hours: QUIET_NIGHTS }],
  ['a shop that is closed at weekends', { visitors: 2_000, week: WEEKDAYS }],
  [
    'a small shop that is closed at weekends',
    { visitors: 80, week: WEEKDAYS, hours: QUIET_NIGHTS },
  ],
  [
    'few visitors who make many events',
    { visitors: 12, operations: { viewHomepage: [1, 12], viewProduct: [0.5, 15] } },
  ],
  ['clocks that go back', { visitors: 3_000, hours: QUIET_NIGHTS, offset: clockChange(2, 1) }],
  ['clocks that go forward', { visitors: 3_000, hours: QUIET_NIGHTS, offset: clockChange(1, 2) }],
  [
    'a holiday with a third of the visitors',
    { visitors: 2_000, factor: (at) => (at >= days(24) && at < days(26) ? 0.33 : 1) },
  ],
  [
    'a campaign with four times the visitors, and its end',
    { visitors: 1_000, factor: (at) => (at >= days(21) && at < days(24) ? 4 : 1) },
  ],
  [
    'a gateway that is down for a day',
    { visitors: 2_000, isUp: (at) => at < days(23) || at >= days(24) },
  ],
  [
    'a gateway that is down for an hour every evening',
    { visitors: 2_000, isUp: (at) => at % DAY_MS < 20 * HOUR_MS || at % DAY_MS >= 21 * HOUR_MS },
  ],
  [
    'a gateway that is down for three weeks',
    { visitors: 500, isUp: (at) => at < days(14) || at >= days(35) },
  ],
  [
    'a shop that begins to count',
    { visitors: 2_000, week: WEEKDAYS, isUp: (at) => at >= days(17) },
  ],
])('no warning for %s, at any time', (_, shop) => {
  for (const seed of [1, 2]) {
    const simulated = simulate(shop, seed)
    const from = MONDAY + simulated.observed.indexOf(1) * SLOT_MS
    for (const now of times(from, END)) {
      // A gateway that does not run is not asked.
      if (simulated.observed[Math.floor((now - MONDAY) / SLOT_MS)] !== 1) continue
      expect([new Date(now).toISOString(), ...warningsAt(simulated, now)]).toEqual([
        new Date(now).toISOString(),
      ])
    }
  }
})

const everyDays = (step: number): number[] =>
  Array.from({ length: Math.ceil((WEEKS * 7) / step) }, (_, i) => i * step)

test.each<[string, days: readonly number[], hours: number]>([
  ['once, in ten minutes', [14], 1 / SLOTS_PER_HOUR],
  ['once, in five hours', [14], 5],
  ['once, in two days', [14], 40],
  ['twice', [3, 14], 1],
  ['every 28 days', everyDays(28), 2],
  ['every week', everyDays(7), 2],
  ['every third day', everyDays(3), 2],
  ['every second day', everyDays(2), 2],
  ['every day', everyDays(1), 2],
])('no warning for events that a server imports %s', (_, when, hours) => {
  const simulated = simulate({ visitors: 300 })
  const counts = simulated.observed.map(() => 0)
  for (const day of when)
    counts.fill(
      300,
      day * DAY_SLOTS + 9 * SLOTS_PER_HOUR,
      day * DAY_SLOTS + (9 + hours) * SLOTS_PER_HOUR,
    )
  simulated.events.set('sendCustomApi', counts)
  for (const now of times(MONDAY, END))
    expect([new Date(now).toISOString(), ...warningsAt(simulated, now)]).toEqual([
      new Date(now).toISOString(),
    ])
})

test.each<[string, Shop, broken: number, hours: number]>([
  ['a busy shop at noon', { visitors: 20_000 }, days(23) + 12 * HOUR_MS, 2],
  ['a busy shop at night', { visitors: 20_000 }, days(23) + 2 * HOUR_MS, 6],
  ['a shop of 300 visitors a day', { visitors: 300 }, days(23) + 9 * HOUR_MS, 24],
  ['a shop of 60 visitors a day', { visitors: 60 }, days(23) + 9 * HOUR_MS, 90],
  [
    'a shop that is closed at weekends',
    { visitors: 2_000, week: WEEKDAYS },
    days(21) + 9 * HOUR_MS,
    5,
  ],
])(
  'addToCart of %s stops: it is reported in time, and until it comes again',
  (_, shop, broken, hours) => {
    const works = (operation: string, at: number) => operation !== 'addToCart' || at < broken
    const simulated = simulate({ ...shop, works })
    const found = [...everyHalfHour(broken)].find((now) => warningsAt(simulated, now).length > 0)
    expect(found).toBeLessThanOrEqual(broken + hours * HOUR_MS)
    expect(warningsAt(simulated, found as number)).toEqual(['addToCart stopped'])
    // Some hours and some weeks later. At night or on a weekend nothing may be said, as there is nothing to expect.
    for (const now of [...times(broken + 8 * DAY_MS, END)])
      expect([new Date(now).toISOString(), ...warningsAt(simulated, now)]).toEqual([
        new Date(now).toISOString(),
        'addToCart stopped',
      ])
  },
)

test('a script that is missing in all pages is reported for every operation', () => {
  const broken = days(23) + 12 * HOUR_MS
  const simulated = simulate({ visitors: 3_000, works: (_, at) => at < broken })
  const now = broken + 4 * HOUR_MS
  expect(warningsAt(simulated, now)).toEqual([
    'viewHomepage stopped',
    'viewProduct stopped',
    'addToCart stopped',
  ])
  const [home] = judgeCoverage(historyAt(simulated, now), now)
  expect(home?.message).toContain('the script may be missing')
})

test('an operation of which only a tenth comes is fewer', () => {
  const broken = days(23) + 10 * HOUR_MS
  const random = createRandom(9)
  const works = (operation: string, at: number) =>
    operation !== 'viewProduct' || at < broken || random() < 0.1
  const simulated = simulate({ visitors: 10_000, works })
  for (const now of times(broken + 2 * HOUR_MS, broken + 10 * HOUR_MS))
    expect(warningsAt(simulated, now)).toEqual(['viewProduct fewer'])
})

test('a gateway that comes back after some hours says nothing of the time before', () => {
  const [down, up] = [days(23) + 8 * HOUR_MS, days(23) + 14 * HOUR_MS]
  const simulated = simulate({ visitors: 20_000, isUp: (at) => at < down || at >= up })
  for (let now = up + 60_000; now < up + 3 * HOUR_MS; now += 5 * 60_000)
    expect([new Date(now).toISOString(), ...warningsAt(simulated, now)]).toEqual([
      new Date(now).toISOString(),
    ])
})

test('an operation that comes with the other ones is not fewer, on a day with a quarter of the visitors', () => {
  const quiet = days(23)
  const simulated = simulate({
    visitors: 20_000,
    factor: (at) => (at >= quiet && at < quiet + DAY_MS ? 0.25 : 1),
    works: (operation, at) =>
      operation !== 'addToCart' || at < quiet || at % (3 * SLOT_MS) < 2 * SLOT_MS,
  })
  // Of addToCart two thirds come, so it is a sixth of usual.
  for (let now = quiet + 10 * HOUR_MS; now < quiet + 20 * HOUR_MS; now += HOUR_MS)
    expect([new Date(now).toISOString(), ...warningsAt(simulated, now)]).toEqual([
      new Date(now).toISOString(),
    ])
})
