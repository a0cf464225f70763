import type { Database } from 'better-sqlite3'
import { utmOf } from '../campaigns/utm.ts'
import type { Row } from './reportLog.ts'
import type { Customer, Numbers } from './reportNumbers.ts'
import { STEP } from './reportSums.ts'
import { BLOCK_DEVICES } from './reportTables.ts'

/** How long after a visit events count for its campaign, ms. After exactly 7 days they still count. */
export const LASTS_MS = 7 * 86_400_000

/** By operation, so a customer's own event names and its prefix make no difference. */
const STEPS: ReadonlyMap<string, number> = new Map([
  ['viewProduct', STEP.viewProduct],
  ['addToCart', STEP.addToCart],
  ['initiateCheckout', STEP.initiateCheckout],
  ['setEmail', STEP.identified],
  ['sendCustom', STEP.identified],
])

/** The events of devices, as reports store them. */
export type Touches = {
  /** @param since Events that happened before this are in closed figures, or too old for a report, and are not added. */
  add(customer: Customer, row: Row, since: number): void
  /** Marks the parts of reports that the touches since the last call have changed. */
  flush(): void
  /** Drops the changes that `flush` has not marked yet. */
  forget(): void
}

/**
 * Writes each event of a device once. In whatever order events arrive, each changes at most two campaigns: that of the
 * last visit before it and, if it is a visit, its own.
 */
export function createTouches(database: Database, numbers: Numbers): Touches {
  const insert = database.prepare<[number, number, Buffer, number, number, number | null]>(
    'INSERT INTO touches VALUES (?, ?, ?, ?, ?, ?)',
  )
  const campaignBefore = database
    .prepare<[number, number, Buffer, number], number>(
      `SELECT utm FROM touches INDEXED BY visits_by_device
       WHERE utm IS NOT NULL AND device = ? AND (at, id) < (?, ?) AND at >= ?
       ORDER BY at DESC, id DESC LIMIT 1`,
    )
    .pluck()
  /** Like campaignBefore, for the visits that are deleted. */
  const carriedBefore = database
    .prepare<[number, number, number, number], number>(
      `SELECT utm FROM carried
       WHERE device = ? AND until = ? AND visit_at BETWEEN ? AND ? ORDER BY visit_at DESC LIMIT 1`,
    )
    .pluck()
  const markPart = database.prepare<[number, number]>(
    `INSERT INTO parts VALUES (?, ?, 0, NULL)
     ON CONFLICT DO UPDATE SET figures = NULL WHERE figures IS NOT NULL`,
  )
  const changed = new Map<string, readonly [utm: number, block: number]>()

  function change(utm: number, device: number): void {
    const block = Math.floor(device / BLOCK_DEVICES)
    changed.set(`${utm} ${block}`, [utm, block])
  }

  return {
    add(customer, [, , id, at, receivedAt, operation, event, did, payload], since) {
      if (did === null || at < since) return
      const device = numbers.device(customer, did)
      const values = utmOf(urlOf(payload))
      const utm = values ? numbers.utm(customer, values) : null
      const name = numbers.name(customer, event, receivedAt)
      insert.run(device.device, at, id, name, STEPS.get(operation) ?? STEP.any, utm)
      if (utm !== null) {
        device.isVisitor = true
        change(utm, device.device)
      }
      if (!device.isVisitor) return
      const before =
        campaignBefore.get(device.device, at, id, at - LASTS_MS) ??
        carriedBefore.get(device.device, since, at - LASTS_MS, at)
      if (before !== undefined) change(before, device.device)
    },
    flush() {
      for (const part of changed.values()) markPart.run(...part)
      changed.clear()
    },
    forget: () => changed.clear(),
  }
}

/**
 * The URL of an event that may have utm values. Most events have none, and searching the text takes a tenth of the time
 * of parsing it. (The letters of a parameter's name are plain, or escaped in the URL or in the JSON.)
 */
function urlOf(payload: string): unknown {
  if (!/utm_|[%\\]/.test(payload)) return undefined
  try {
    return JSON.parse(payload)?.url
  } catch {
    // The gateway stores only JSON. Anything else is an event without a URL, and does not stop all reports.
    return undefined
  }
}
