import type { Database } from 'better-sqlite3'
import type { Blocks } from './reportBlocks.ts'
import { createSum, type Day, dayIn, type Part, STEP } from './reportSums.ts'
import { BLOCK_DEVICES } from './reportTables.ts'
import { LASTS_MS } from './reportTouches.ts'

/**
 * The most touches of one device that are read for a campaign, from its first visit on. They take about 0.1 s. No
 * person causes so many, but a program may send everything under one device id, and a report must not take a minute
 * because of it.
 */
export const MAX_DEVICE_TOUCHES = 100_000
const DAY_MS = 86_400_000

/** What a device has done for a campaign so far: where the next touches continue. */
export type Carried = {
  readonly device: number
  /** A bit for each step that it has reached. */
  readonly reached: number
  /** Time of its last visit. Null if that was a visit of another campaign. */
  readonly visitAt: number | null
}

/** The figures of campaigns. */
export type Parts = {
  /**
   * Brings parts up to date, and stops after about `ms`. Call it in a transaction that writes.
   *
   * @param since Only the touches from this time on, ms since 1970.
   */
  refresh(utm: number, since: number, ms: number): void
  /**
   * The figures of the touches since a time, and the closed ones. Undefined if a part is not up to date. Call it in a
   * transaction.
   */
  read(utm: number, since: number, closed: Part<string> | undefined): Part<string> | undefined
  /** The same with texts for the names. */
  toTexts(part: Part): Part<string>
  /** The blocks with devices that have visited. */
  blocks(utm: number): readonly number[]
  /**
   * The figures of the touches from `since` to before `until`, for one block. Call it in a transaction that writes.
   *
   * @returns Also what each of these devices has done up to `until`.
   */
  makePart(
    utm: number,
    block: number,
    since: number,
    until: number,
  ): { readonly part: Part; readonly carried: readonly Carried[] }
}

/**
 * Computes a report from the touches of the devices that visited, block by block. A part is kept until one of its
 * touches changes, so the next report of a live campaign reads only the blocks with new touches.
 */
export function createParts(database: Database, blocks: Blocks, maxDeviceTouches: number): Parts {
  const carriedIn = database.prepare<
    [{ utm: number; since: number; first: number; last: number }],
    Carried
  >(
    `SELECT device, reached, visit_at AS visitAt FROM carried
     WHERE utm = @utm AND until = @since AND device BETWEEN @first AND @last`,
  )
  const stale = database
    .prepare<[number, number], number>(
      'SELECT block FROM parts WHERE utm = ? AND (figures IS NULL OR since <> ?)',
    )
    .pluck()
  const blocksOf = database
    .prepare<[number], number>('SELECT block FROM parts WHERE utm = ?')
    .pluck()
  const save = database.prepare<[string, number, number, number]>(
    'UPDATE parts SET figures = ?, since = ? WHERE utm = ? AND block = ?',
  )
  const drop = database.prepare<[number, number]>('DELETE FROM parts WHERE utm = ? AND block = ?')
  const figures = database
    .prepare<[number, number], string | null>(
      'SELECT iif(since = ?, figures, NULL) FROM parts WHERE utm = ?',
    )
    .pluck()
  const textOf = database.prepare<[number], string>('SELECT text FROM names WHERE name = ?').pluck()

  /** In the order in which the names were first seen. */
  const toTexts = ({ devices, days, ...part }: Part): Part<string> => ({
    devices,
    days,
    names: [...part.names]
      .sort(([a], [b]) => a - b)
      .map(([name, count]) => [textOf.get(name) as string, count]),
  })

  function makePart(utm: number, block: number, since: number, until: number) {
    const first = block * BLOCK_DEVICES
    const last = first + BLOCK_DEVICES - 1
    const carried = carriedIn.all({ utm, since, first, last })
    const visitAt = new Map(carried.map(({ device, visitAt }) => [device, visitAt]))
    const fold = createFold(utm, carried)
    const touches = blocks.read(block)
    for (let start = 0; start < touches.length; ) {
      let end = start + 1
      while (touches.devices[end] === touches.devices[start] && end < touches.length) end++
      addDevice(start, end)
      start = end
    }
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
    refresh(utm, since, ms) {
      const end = performance.now() + ms
      for (const block of stale.all(utm, since)) {
        const { part } = makePart(utm, block, since, Number.MAX_SAFE_INTEGER)
        if (part.names.length > 0) save.run(JSON.stringify(part), since, utm, block)
        else drop.run(utm, block)
        if (performance.now() >= end) return
      }
    },
    read(utm, since, closed) {
      const sum = createSum<number>()
      for (const text of figures.iterate(since, utm)) {
        if (text === null) return undefined
        sum.add(JSON.parse(text))
      }
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

/** Makes a part from touches. They come device by device, and in order for each device. */
function createFold(utm: number, before: readonly Carried[]) {
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

  function reach(step: number): void {
    if (reached & (1 << step)) return
    reached |= 1 << step
    devices[step] = (devices[step] ?? 0) + 1
  }

  function keep(): void {
    if (device < 0) return
    carried.set(device, { device, reached, visitAt: Number.isFinite(visitAt) ? visitAt : null })
  }

  return {
    /** @param visited The utm values of a visit, otherwise 0. */
    add(of: number, at: number, visited: number, name: number, step: number): void {
      if (of !== device) {
        keep()
        device = of
        const state = carried.get(of)
        visitAt = state?.visitAt ?? Number.NEGATIVE_INFINITY
        reached = state?.reached ?? 0
        today = undefined
      }
      if (visited !== 0) visitAt = visited === utm ? at : Number.NEGATIVE_INFINITY
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
    end(): { readonly part: Part; readonly carried: readonly Carried[] } {
      keep()
      return {
        part: { devices, names: [...names], days: [...days.values()] },
        carried: [...carried.values()],
      }
    },
  }
}
