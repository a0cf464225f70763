import type { Database } from 'better-sqlite3'
import type { ReportDay } from '../../contract/index.ts'
import type { ReportFigures } from '../campaigns/report.ts'
import { OTHER } from './reportNumbers.ts'
import { BLOCK_DEVICES } from './reportTables.ts'
import { LASTS_MS, STEP } from './reportTouches.ts'

/** The most event names in a report. The rarer ones are summed up as OTHER. */
const MAX_NAMES = 100
/**
 * The most touches of one device that are read for a campaign, from its first visit on. They take about 0.1 s. No
 * person causes so many, but a program may send everything under one device id, and a report must not take a minute
 * because of it.
 */
export const MAX_DEVICE_TOUCHES = 100_000
const DAY_MS = 86_400_000

type Touch = readonly [device: number, at: number, utm: number | null, name: number, step: number]

/**
 * The figures of a campaign for the devices of one block. Each device is in one block only, so parts can be added up.
 */
type Part = {
  /** How many devices reached each step, by the number of the step. `any` counts all of them. */
  readonly devices: number[]
  /** How many events have each name, by the number of the name. */
  readonly names: (readonly [name: number, events: number])[]
  readonly days: Day[]
}
type Day = {
  /** Days since 1970. */
  readonly day: number
  visitors: number
  addToCart: number
  initiateCheckout: number
}

/** The figures of campaigns. */
export type Parts = {
  /** Brings parts up to date, and stops after about `ms`. Call it in a transaction that writes. */
  refresh(utm: number, ms: number): void
  /** Undefined if a part is not up to date. Call it in a transaction. */
  read(utm: number): ReportFigures | undefined
}

/** The figures of a campaign without events. */
export const NO_FIGURES: ReportFigures = {
  from: null,
  to: null,
  visitors: 0,
  identified: 0,
  events: {},
  funnel: { view_product: 0, add_to_cart: 0, initiate_checkout: 0 },
  days: [],
}

/**
 * Computes a report from the touches of the devices that visited, block by block. A part is kept until one of its
 * touches changes, so the next report of a live campaign reads only the blocks with new touches.
 */
export function createParts(database: Database, maxDeviceTouches: number): Parts {
  // From a device's first visit to LASTS_MS after its last one. No other event can count.
  const touches = database
    .prepare<[number, number, number], Touch>(
      `SELECT t.device, t.at, t.utm, t.name, t.step
       FROM (
         SELECT device, min(at) AS first, max(at) + ${LASTS_MS} AS last
         FROM touches INDEXED BY visits_by_utm WHERE utm = ? AND device BETWEEN ? AND ? GROUP BY device
       ) v CROSS JOIN touches t ON t.device = v.device AND t.at BETWEEN v.first AND v.last
       ORDER BY t.device, t.at, t.id`,
    )
    .raw()
  const stale = database
    .prepare<[number], number>('SELECT block FROM parts WHERE utm = ? AND figures IS NULL')
    .pluck()
  const save = database.prepare<[string, number, number]>(
    'UPDATE parts SET figures = ? WHERE utm = ? AND block = ?',
  )
  const figures = database
    .prepare<[number], string | null>('SELECT figures FROM parts WHERE utm = ?')
    .pluck()
  const textOf = database.prepare<[number], string>('SELECT text FROM names WHERE name = ?').pluck()

  function makePart(utm: number, block: number): Part {
    const fold = createFold(utm)
    const last = (block + 1) * BLOCK_DEVICES - 1
    let next = block * BLOCK_DEVICES
    while (next <= last) next = foldFrom(next, last)
    return fold.part()

    /** Folds the devices up to `last`, or up to one with too many touches. Returns the device to continue with. */
    function foldFrom(first: number, last: number): number {
      let device = -1
      let count = 0
      for (const touch of touches.iterate(utm, first, last)) {
        count = touch[0] === device ? count + 1 : 1
        device = touch[0]
        if (count > maxDeviceTouches) return device + 1
        fold.add(touch)
      }
      return last + 1
    }
  }

  return {
    refresh(utm, ms) {
      const end = performance.now() + ms
      for (const block of stale.all(utm)) {
        save.run(JSON.stringify(makePart(utm, block)), utm, block)
        if (performance.now() >= end) return
      }
    },
    read(utm) {
      const sum = createSum()
      for (const text of figures.iterate(utm)) {
        if (text === null) return undefined
        sum.add(JSON.parse(text))
      }
      return sum.figures((name) => textOf.get(name) as string)
    },
  }
}

/** Makes a part from touches. They come device by device, and in order for each device. */
function createFold(utm: number) {
  const devices = Object.values(STEP).map(() => 0)
  const names = new Map<number, number>()
  const days = new Map<number, Day>()
  // State of the current device.
  let device = -1
  /** Time of its last visit, if that was a visit of this campaign. */
  let visitAt = Number.NEGATIVE_INFINITY
  /** A bit for each step that it has reached. */
  let reached = 0
  let today: Day | undefined

  function reach(step: number): void {
    if (reached & (1 << step)) return
    reached |= 1 << step
    devices[step] = (devices[step] ?? 0) + 1
  }

  return {
    add([of, at, visited, name, step]: Touch): void {
      if (of !== device) {
        device = of
        visitAt = Number.NEGATIVE_INFINITY
        reached = 0
        today = undefined
      }
      if (visited !== null) visitAt = visited === utm ? at : Number.NEGATIVE_INFINITY
      if (at - visitAt > LASTS_MS) return
      reach(STEP.any)
      reach(step)
      names.set(name, (names.get(name) ?? 0) + 1)
      const day = Math.floor(at / DAY_MS)
      if (today?.day !== day) {
        today = dayIn(days, day)
        today.visitors++
      }
      if (step === STEP.addToCart) today.addToCart++
      if (step === STEP.initiateCheckout) today.initiateCheckout++
    },
    part: (): Part => ({ devices, names: [...names], days: [...days.values()] }),
  }
}

/** Adds up parts. */
function createSum() {
  const devices = Object.values(STEP).map(() => 0)
  const names = new Map<number, number>()
  const days = new Map<number, Day>()

  return {
    add(part: Part): void {
      for (const [step, count] of part.devices.entries())
        devices[step] = (devices[step] ?? 0) + count
      for (const [name, count] of part.names) names.set(name, (names.get(name) ?? 0) + count)
      for (const of of part.days) {
        const day = dayIn(days, of.day)
        day.visitors += of.visitors
        day.addToCart += of.addToCart
        day.initiateCheckout += of.initiateCheckout
      }
    },
    figures(textOf: (name: number) => string): ReportFigures {
      const shownDays = showDays(days)
      return {
        from: shownDays[0]?.date ?? null,
        to: shownDays.at(-1)?.date ?? null,
        visitors: devices[STEP.any] ?? 0,
        identified: devices[STEP.identified] ?? 0,
        events: showEvents(names, textOf),
        funnel: {
          view_product: devices[STEP.viewProduct] ?? 0,
          add_to_cart: devices[STEP.addToCart] ?? 0,
          initiate_checkout: devices[STEP.initiateCheckout] ?? 0,
        },
        days: shownDays,
      }
    },
  }
}

function dayIn(days: Map<number, Day>, day: number): Day {
  const found = days.get(day) ?? { day, visitors: 0, addToCart: 0, initiateCheckout: 0 }
  days.set(day, found)
  return found
}

/** The most frequent names first. Of names with equal counts, the one that was seen first. The rest is OTHER. */
function showEvents(
  names: ReadonlyMap<number, number>,
  textOf: (name: number) => string,
): ReportFigures['events'] {
  const shown = [...names]
    .sort(([nameA, a], [nameB, b]) => b - a || nameA - nameB)
    // One more, since OTHER may be among them.
    .slice(0, MAX_NAMES + 1)
    .map(([name, count]): [string, number] => [textOf(name), count])
    .filter(([text]) => text !== OTHER)
    .slice(0, MAX_NAMES)
  const sum = (counts: Iterable<number>) => [...counts].reduce((all, count) => all + count, 0)
  const rest = sum(names.values()) - sum(shown.map(([, count]) => count))
  // Not by assignments, since a name may be `__proto__`.
  return Object.fromEntries(rest > 0 ? [...shown, [OTHER, rest]] : shown)
}

/** Every day from the first to the last. */
function showDays(days: Map<number, Day>): ReportDay[] {
  const numbers = [...days.keys()].sort((a, b) => a - b)
  const first = numbers[0] ?? 0
  const last = numbers.at(-1) ?? -1
  return Array.from({ length: last - first + 1 }, (_, i) => {
    const { visitors, addToCart, initiateCheckout } = dayIn(days, first + i)
    const date = new Date((first + i) * DAY_MS).toISOString().slice(0, 10)
    return { date, visitors, add_to_cart: addToCart, initiate_checkout: initiateCheckout }
  })
}
