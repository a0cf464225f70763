import type { Database } from 'better-sqlite3'
import type { Counted, Totals } from './reportTotals.ts'

/** How long after a visit what the device does is counted for its campaign, ms; exactly 7 days still are. */
const LASTS_MS = 7 * 86_400_000

/** A device, as far as it is known without reading its trail. */
export type Device = {
  readonly device: number
  /** Events that late visits have taken over; once they are too many, none takes any more. */
  moved: number
  /** Its last visit in the order; null: it has none. */
  visit: Visit | null
}

type Place = { readonly at: number; readonly id: Buffer }
type Visit = Place & { readonly utm: number }
/** An event of a device; with utm values it is a visit. */
export type Step = Place & Counted & { readonly utm: number | null }

/** Of every device what it did, in the order of `at`, then id. */
export type Trail = {
  /** The last visit of a device that was there before. */
  lastVisit(device: number): Visit | null
  /** Puts an event into its place, and counts for its campaign what is the campaign's because of it. */
  add(device: Device, step: Step): void
}

/**
 * Which campaign an event counts for (docs/decisions.md, "Attribution"): that of
 * the last visit at or before it, if at most 7 days lie between.
 *
 * Events arrive in any order. One that comes late finds the visit before it; a visit that comes late takes
 * over the events between itself and the next visit that are there already. So the sums are those of
 * all events in their order, whatever the order of arrival.
 *
 * With one exception, which bounds the work: a device whose late visits would take over more than
 * `mostMoved` events, all together, is no person's but a server's that sends everything under one device
 * id, or somebody's who wants the work done. From then on that device's events stay with the campaign they
 * were counted for when they arrived. Which they are depends on the log alone.
 */
export function createTrail(database: Database, totals: Totals, mostMoved: number): Trail {
  const insert = database.prepare<[number, number, Buffer, number, number, number | null]>(
    'INSERT INTO trail VALUES (?, ?, ?, ?, ?, ?)',
  )
  const visitBefore = database.prepare<[number, number, Buffer], Visit>(
    `SELECT at, id, utm FROM trail INDEXED BY visits
     WHERE utm IS NOT NULL AND device = ? AND (at, id) < (?, ?) ORDER BY at DESC, id DESC LIMIT 1`,
  )
  const visitAfter = database.prepare<[number, number, Buffer], Visit>(
    `SELECT at, id, utm FROM trail INDEXED BY visits
     WHERE utm IS NOT NULL AND device = ? AND (at, id) > (?, ?) ORDER BY at, id LIMIT 1`,
  )
  const between = database.prepare<[number, number, Buffer, number, Buffer, number], Counted>(
    `SELECT at, name, step FROM trail
     WHERE device = ? AND (at, id) > (?, ?) AND (at, id) < (?, ?) ORDER BY at, id LIMIT ?`,
  )
  const keepMoved = database.prepare<[number, number]>(
    'UPDATE devices SET moved = ? WHERE device = ?',
  )

  function lastBefore(device: Device, { at, id }: Place): Visit | null {
    if (!device.visit || isBefore(device.visit, { at, id })) return device.visit
    return visitBefore.get(device.device, at, id) ?? null
  }

  /** What is there between a visit and the next one becomes the visit's. */
  function takeOver(device: Device, visit: Visit, before: Visit | null): void {
    const end = endOf(visit)
    const next = visitAfter.get(device.device, visit.at, visit.id)
    const until = next && isBefore(next, end) ? next : end
    const taken = between.all(
      ...([device.device, visit.at, visit.id, until.at, until.id] as const),
      mostMoved - device.moved + 1,
    )
    if (taken.length === 0) return
    device.moved += taken.length
    keepMoved.run(device.moved, device.device)
    if (device.moved > mostMoved) return
    for (const step of taken) {
      totals.count(device.device, visit.utm, step, 1)
      if (before && reaches(before, step)) totals.count(device.device, before.utm, step, -1)
    }
  }

  return {
    lastVisit: (device) => visitBefore.get(device, Number.MAX_SAFE_INTEGER, NOTHING) ?? null,
    add(device, step) {
      const { at, id, utm } = step
      const before = lastBefore(device, step)
      insert.run(device.device, at, id, step.name, step.step, utm)
      if (utm === null) {
        if (before && reaches(before, step)) totals.count(device.device, before.utm, step, 1)
        return
      }
      const visit = { at, id, utm }
      totals.count(device.device, utm, step, 1)
      if (device.moved <= mostMoved) takeOver(device, visit, before)
      if (!device.visit || isBefore(device.visit, visit)) device.visit = visit
    },
  }
}

const NOTHING = Buffer.alloc(0)

const isBefore = (a: Place, b: Place): boolean =>
  a.at < b.at || (a.at === b.at && Buffer.compare(a.id, b.id) < 0)

const reaches = (visit: Visit, { at }: Counted): boolean => at - visit.at <= LASTS_MS

/** The first place that a visit does not reach: no id comes before the empty one. */
const endOf = (visit: Visit): Place => ({ at: visit.at + LASTS_MS + 1, id: NOTHING })
