import type { Database } from 'better-sqlite3'
import { type Blocks, blockOf } from './reportBlocks.ts'
import type { ReportOrders } from './reportOrders.ts'
import { isEmpty, type PartRange, type Parts } from './reportParts.ts'
import { LASTS_MS, type Part } from './reportSums.ts'
import { BLOCK_DEVICES, createMarkPart } from './reportTables.ts'

/** An event of a device. */
export type Touched = { readonly at: number; readonly id: Buffer; readonly device: number }

/** What reports forget, and what they keep of it. */
export type ReportClosing = {
  /** The blocks with devices of a campaign. */
  blocks(utm: number, since: number): readonly number[]
  /**
   * The figures of one block up to before `until`. Notes where the touches after `until` continue, so that a
   * later report counts no device twice. The notes are used as soon as the closed figures end at `until`.
   *
   * Call it in a transaction that writes.
   */
  closeBlock(utm: number, block: number, range: PartRange, until: number): Part<string>
  /**
   * Deletes the touches before `since` of one of the customer's blocks, and the devices that have no visits any more. Notes
   * the last visit of each device until seven days after it, for orders. Call it in a transaction that writes.
   *
   * @param after Result of the last step. Default: the first block.
   * @returns Where the next step continues. Undefined at the end.
   */
  forgetBefore(customer: number, since: number, after?: number): number | undefined
  /** Deletes touches. Call it in a transaction that writes. */
  forgetTouches(touches: readonly Touched[]): void
  /** Deletes what closing has noted of devices. Call it in a transaction that writes. */
  forgetCarried(devices: readonly number[]): void
}

/**
 * A report counts a device once, and an event for the last visit in the seven days before it. So when the touches of a
 * device are deleted, two things are noted for each campaign, without an event: which steps the device has reached, as
 * long as it has later visits of the campaign; and the time of its last visit, until seven days after it. Figures are
 * then the same before and after (docs/decisions.md, "Closed figures").
 */
export function createReportClosing(
  database: Database,
  parts: Parts,
  blocks: Blocks,
  orders: ReportOrders,
): ReportClosing {
  const carriedBlocks = database
    .prepare<[number, number], number>(
      `SELECT DISTINCT device / ${BLOCK_DEVICES} FROM carried WHERE utm = ? AND until = ?`,
    )
    .pluck()
  const visitsAgain = database
    .prepare<[number, number, number], number>(
      `SELECT EXISTS (
         SELECT 1 FROM visits WHERE utm = ? AND device = ? AND at >= ?
       )`,
    )
    .pluck()
  const dropCarried = database.prepare<[number, number, number, number]>(
    'DELETE FROM carried WHERE utm = ? AND until = ? AND device BETWEEN ? AND ?',
  )
  const carry = database.prepare<[number, number, number, number, number | null, number | null]>(
    'INSERT INTO carried (device, utm, until, reached, visit_at, day) VALUES (?, ?, ?, ?, ?, ?)',
  )
  /** Otherwise every closing would visit the blocks of all campaigns that ever were. */
  const dropUnused = database.prepare<
    [{ utm: number; block: number; first: number; last: number }]
  >(
    `DELETE FROM parts WHERE utm = @utm AND block = @block AND NOT EXISTS (
       SELECT 1 FROM visits WHERE utm = @utm AND device BETWEEN @first AND @last
     )`,
  )
  const blockAfter = database
    .prepare<[number, number], number>(
      'SELECT block FROM blocks WHERE customer = ? AND block > ? ORDER BY block LIMIT 1',
    )
    .pluck()
  /** The last row of a device stays: by time, then by id. */
  const noteLastVisits = database.prepare<
    [{ first: number; last: number; since: number; from: number }]
  >(
    `INSERT OR REPLACE INTO last_visits (device, at, id, utm)
     SELECT device, at, id, utm FROM visits
     WHERE device BETWEEN @first AND @last AND at >= @from AND at < @since ORDER BY device, at, id`,
  )
  const dropLastVisits = database.prepare<[number, number, number]>(
    'DELETE FROM last_visits WHERE device BETWEEN ? AND ? AND at < ?',
  )
  const dropVisits = database.prepare<[number, number, number]>(
    'DELETE FROM visits WHERE device BETWEEN ? AND ? AND at < ?',
  )
  const dropOthers = database.prepare<[number, number, number]>(
    'DELETE FROM carried WHERE device BETWEEN ? AND ? AND until <> ?',
  )
  const dropDevices = database.prepare<[number, number]>(
    `DELETE FROM devices WHERE device BETWEEN ? AND ?
       AND NOT EXISTS (SELECT 1 FROM visits WHERE visits.device = devices.device)
       AND NOT EXISTS (SELECT 1 FROM carried WHERE carried.device = devices.device)
       AND NOT EXISTS (SELECT 1 FROM last_visits WHERE last_visits.device = devices.device)`,
  )
  const devicesIn = database
    .prepare<[number, number], number>('SELECT device FROM devices WHERE device BETWEEN ? AND ?')
    .pluck()
  const dropBlock = database.prepare<[{ block: number; customer: number; last: number }]>(
    `DELETE FROM blocks WHERE block = @block
       AND EXISTS (SELECT 1 FROM customers WHERE customer = @customer AND next_device > @last)`,
  )
  const campaignsOf = database
    .prepare<[number, number], number>(
      'SELECT utm FROM visits WHERE device = ? UNION SELECT utm FROM carried WHERE device = ?',
    )
    .pluck()
  const markPart = createMarkPart(database)
  const dropCarriedOf = database.prepare<[number]>('DELETE FROM carried WHERE device = ?')
  const dropLastVisitOf = database.prepare<[number]>('DELETE FROM last_visits WHERE device = ?')
  const dropVisit = database.prepare<[number, number, Buffer]>(
    'DELETE FROM visits WHERE device = ? AND at = ? AND id = ?',
  )

  function markParts(device: number): void {
    for (const utm of campaignsOf.all(device, device)) markPart(utm, device)
  }

  /** Deletes touches of a block, and the devices without visits with theirs. @returns Whether a device is left. */
  function rewrite(block: number, isKept: (touch: Touched) => boolean): boolean {
    const [first, last] = [block * BLOCK_DEVICES, (block + 1) * BLOCK_DEVICES - 1]
    dropDevices.run(first, last)
    const devices = new Set(devicesIn.all(first, last))
    blocks.rewrite(block, (touch) => devices.has(touch.device) && isKept(touch))
    return devices.size > 0
  }

  return {
    blocks: (utm, since) => [...new Set([...parts.blocks(utm), ...carriedBlocks.all(utm, since)])],
    closeBlock(utm, block, range, until) {
      const { part, carried } = parts.makePart(utm, block, range, until)
      const [first, last] = [block * BLOCK_DEVICES, (block + 1) * BLOCK_DEVICES - 1]
      dropCarried.run(utm, until, first, last)
      let carries = false
      for (const { device, reached, visitAt, day } of carried) {
        const lasts = visitAt !== null && visitAt + LASTS_MS >= until
        if (!lasts && visitsAgain.get(utm, device, until) !== 1) continue
        carry.run(device, utm, until, reached, lasts ? visitAt : null, day)
        carries = true
      }
      // A device whose visit is carried has touches that count, but none that is a visit.
      if (!carries && isEmpty(part)) dropUnused.run({ utm, block, first, last })
      return parts.toTexts(part)
    },
    forgetBefore(customer, since, after = 0) {
      const block = blockAfter.get(customer, after)
      if (block === undefined) return undefined
      const [first, last] = [block * BLOCK_DEVICES, (block + 1) * BLOCK_DEVICES - 1]
      const from = since - LASTS_MS
      noteLastVisits.run({ first, last, since, from })
      dropLastVisits.run(first, last, from)
      dropVisits.run(first, last, since)
      dropOthers.run(first, last, since)
      if (!rewrite(block, ({ at }) => at >= since)) dropBlock.run({ block, customer, last })
      return block
    },
    forgetTouches(touches) {
      const ids = new Map<number, Set<string>>()
      for (const { device, at, id } of touches) {
        markParts(device)
        dropVisit.run(device, at, id)
        const block = blockOf(device)
        ids.set(block, (ids.get(block) ?? new Set()).add(id.toString('hex')))
      }
      orders.credit([...new Set(touches.map(({ device }) => device))], markPart)
      for (const [block, some] of ids) rewrite(block, ({ id }) => !some.has(id.toString('hex')))
    },
    forgetCarried(devices) {
      for (const device of devices) {
        markParts(device)
        dropCarriedOf.run(device)
        dropLastVisitOf.run(device)
      }
      orders.credit(devices, markPart)
      for (const block of new Set(devices.map(blockOf))) rewrite(block, () => true)
    },
  }
}
