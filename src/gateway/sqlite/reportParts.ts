import type { Database } from 'better-sqlite3'
import { type LocalDay, localDayOf } from '../lib/localDay.ts'
import type { Blocks } from './reportBlocks.ts'
import type { CreditedOrder, ReportOrders } from './reportOrders.ts'
import { createSalesSum } from './reportSales.ts'
import { createSum, type Day, dayIn, LASTS_MS, type Part, STEP } from './reportSums.ts'
import { BLOCK_DEVICES } from './reportTables.ts'

/**
 * The most touches of one device that are read for a campaign, from its first visit on. They take about 0.1 s. No
 * person causes so many, but a program may send everything under one device id, and a report must not take a minute
 * because of it.
 */
export const MAX_DEVICE_TOUCHES = 100_000

/** What a device has done for a campaign so far: where the next touches continue. */
export type Carried = {
  readonly device: number
  /** A bit for each step that it has reached. */
  readonly reached: number
  /** Time of its last visit. Null if that was a visit of another campaign. */
  readonly visitAt: number | null
  /** The last day on which it was counted, so that it is not counted again on it. Null if there is none. */
  readonly day: number | null
}

/** What parts are made of: the time from which they count, ms since 1970, and the time zone of their days. */
export type PartRange = { readonly since: number; readonly timeZone: string }

/** The figures of campaigns. */
export type Parts = {
  /**
   * Brings parts up to date, step by step: a step joins rows of a block (see Blocks), or adds up a block whose rows are
   * joined. Call it in a transaction that writes.
   *
   * @param isOver Called before each step. True: no further step.
   */
  refresh(utm: number, range: PartRange, isOver: () => boolean): void
  /**
   * The figures of the touches since a time, and the closed ones. Undefined if a part is not up to date. Call it in a
   * transaction.
   */
  read(utm: number, range: PartRange, closed: Part<string> | undefined): Part<string> | undefined
  /** The same with texts for the names. */
  toTexts(part: Part): Part<string>
  /** The blocks with devices that have visited. */
  blocks(utm: number): readonly number[]
  /**
   * The figures of the touches and orders up to before `until`, for one block. Call it in a transaction that writes.
   *
   * @returns Also what each of these devices has done up to `until`.
   */
  makePart(
    utm: number,
    block: number,
    range: PartRange,
    until: number,
  ): { readonly part: Part; readonly carried: readonly Carried[] }
}

/**
 * Computes a report from the touches of the devices that visited, block by block. A part is kept until one of its
 * touches changes, so the next report of a live campaign reads only the blocks with new touches.
 */
export function createParts(
  database: Database,
  blocks: Blocks,
  orders: ReportOrders,
  maxDeviceTouches: number,
): Parts {
  const carriedIn = database.prepare<
    [{ utm: number; since: number; first: number; last: number }],
    Carried
  >(
    `SELECT device, reached, visit_at AS visitAt, day FROM carried
     WHERE utm = @utm AND until = @since AND device BETWEEN @first AND @last`,
  )
  const stale = database
    .prepare<[number, number, string], number>(
      'SELECT block FROM parts WHERE utm = ? AND (figures IS NULL OR since <> ? OR zone <> ?)',
    )
    .pluck()
  const isStale = database
    .prepare<[number, number, string], number>(
      'SELECT 1 FROM parts WHERE utm = ? AND (figures IS NULL OR since <> ? OR zone <> ?) LIMIT 1',
    )
    .pluck()
  const blocksOf = database
    .prepare<[number], number>('SELECT block FROM parts WHERE utm = ?')
    .pluck()
  const save = database.prepare<[string, number, string, number, number]>(
    'UPDATE parts SET figures = ?, since = ?, zone = ? WHERE utm = ? AND block = ?',
  )
  const drop = database.prepare<[number, number]>('DELETE FROM parts WHERE utm = ? AND block = ?')
  const figures = database
    .prepare<[number], string>('SELECT figures FROM parts WHERE utm = ?')
    .pluck()
  const textOf = database.prepare<[number], string>('SELECT text FROM names WHERE name = ?').pluck()

  const statusOf = database
    .prepare<[number], string>('SELECT text FROM statuses WHERE status = ?')
    .pluck()

  /** In the order in which the names were first seen. */
  const toTexts = ({ devices, days, sales, ...part }: Part): Part<string> => ({
    devices,
    days,
    ...(sales && {
      sales: {
        days: sales.days,
        statuses: [...sales.statuses]
          .sort((a, b) => (a.status ?? 0) - (b.status ?? 0))
          .map(({ status, ...sold }) => ({
            ...sold,
            status: status === null ? null : (statusOf.get(status) as string),
          })),
      },
    }),
    names: [...part.names]
      .sort(([a], [b]) => a - b)
      .map(([name, count]) => [textOf.get(name) as string, count]),
  })

  function makePart(utm: number, block: number, { since, timeZone }: PartRange, until: number) {
    const first = block * BLOCK_DEVICES
    const last = first + BLOCK_DEVICES - 1
    const carried = carriedIn.all({ utm, since, first, last })
    const visitAt = new Map(carried.map(({ device, visitAt }) => [device, visitAt]))
    const fold = createFold(utm, carried, localDayOf(timeZone))
    const touches = blocks.read(block)
    for (let start = 0; start < touches.length; ) {
      let end = start + 1
      while (touches.devices[end] === touches.devices[start] && end < touches.length) end++
      addDevice(start, end)
      start = end
    }
    fold.addOrders(orders.credited(utm, first, last, since, until))
    return fold.end()

    /** Adds the touches of a device from its first visit to LASTS_MS after its last one. No other event can count. */
    function addDevice(start: number, end: number): void {
      const device = touches.devices[start] as number
      let from = visitAt.get(device) ?? Number.POSITIVE_INFINITY
      let to = visitAt.get(device) ?? Number.NEGATIVE_INFINITY
      for (let i = start; i < end; i++) {
        const at = touches.at[i] as number
        if (touches.utms[i] !== utm || at < since || at >= until) continue
        from = Math.min(from, at)
        to = Math.max(to, at)
      }
      let count = 0
      for (let i = start; i < end; i++) {
        const at = touches.at[i] as number
        if (at < Math.max(from, since) || at > to + LASTS_MS || at >= until) continue
        if (++count > maxDeviceTouches) return
        fold.add(
          device,
          at,
          touches.utms[i] as number,
          touches.names[i] as number,
          touches.steps[i] as number,
        )
      }
    }
  }

  return {
    refresh(utm, range, isOver) {
      const { since, timeZone } = range
      for (const block of stale.all(utm, since, timeZone)) {
        do {
          if (isOver()) return
        } while (blocks.join(block))
        const { part } = makePart(utm, block, range, Number.MAX_SAFE_INTEGER)
        if (!isEmpty(part)) save.run(JSON.stringify(part), since, timeZone, utm, block)
        else drop.run(utm, block)
      }
    },
    read(utm, { since, timeZone }, closed) {
      // First, so that the figures of a long report are not parsed with each step towards it.
      if (isStale.get(utm, since, timeZone) !== undefined) return undefined
      const sum = createSum<number>()
      for (const text of figures.iterate(utm)) sum.add(JSON.parse(text))
      const all = createSum<string>()
      // The closed ones first, since their names were seen first.
      if (closed) all.add(closed)
      all.add(toTexts(sum.part()))
      return all.part()
    },
    toTexts,
    blocks: (utm) => blocksOf.all(utm),
    makePart,
  }
}

/** Whether nothing was counted. */
export const isEmpty = ({ names, sales }: Part): boolean =>
  names.length === 0 && (sales?.days.length ?? 0) === 0

/** Makes a part from touches. They come device by device, and in order for each device. */
function createFold(utm: number, before: readonly Carried[], localDay: LocalDay) {
  const devices = Object.values(STEP).map(() => 0)
  const names = new Map<number, number>()
  const days = new Map<number, Day>()
  const carried = new Map(before.map((state) => [state.device, state]))
  // State of the current device.
  let device = -1
  /** Time of its last visit, if that was a visit of this campaign. */
  let visitAt = Number.NEGATIVE_INFINITY
  /** A bit for each step that it has reached. */
  let reached = 0
  let today: Day | undefined
  /** The day on which it was last counted. */
  let day: number | null = null
  const sales = createSalesSum<number>()

  function reach(step: number): void {
    if (reached & (1 << step)) return
    reached |= 1 << step
    devices[step] = (devices[step] ?? 0) + 1
  }

  function keep(): void {
    if (device < 0) return
    const last = Number.isFinite(visitAt) ? visitAt : null
    carried.set(device, { device, reached, visitAt: last, day })
  }

  function open(of: number): void {
    if (of === device) return
    keep()
    device = of
    const state = carried.get(of)
    visitAt = state?.visitAt ?? Number.NEGATIVE_INFINITY
    reached = state?.reached ?? 0
    day = state?.day ?? null
    today = undefined
  }

  return {
    /** @param visited The utm values of a visit, otherwise 0. */
    add(of: number, at: number, visited: number, name: number, step: number): void {
      open(of)
      if (visited !== 0) visitAt = visited === utm ? at : Number.NEGATIVE_INFINITY
      if (at - visitAt > LASTS_MS) return
      reach(STEP.any)
      reach(step)
      names.set(name, (names.get(name) ?? 0) + 1)
      const date = localDay(at)
      if (today?.day !== date) {
        today = dayIn(days, date)
        if (date !== day) today.visitors++
        day = date
      }
      if (step === STEP.addToCart) today.addToCart++
      if (step === STEP.initiateCheckout) today.initiateCheckout++
    },
    /** Adds the orders of devices, after all touches. */
    addOrders(orders: Iterable<CreditedOrder>): void {
      for (const { device: of, at, total, currency, status } of orders) {
        open(of)
        reach(STEP.order)
        sales.addOrder(currency, status, localDay(at), total)
      }
    },
    end(): { readonly part: Part; readonly carried: readonly Carried[] } {
      keep()
      return {
        part: { devices, names: [...names], days: [...days.values()], sales: sales.sales() },
        carried: [...carried.values()],
      }
    },
  }
}
