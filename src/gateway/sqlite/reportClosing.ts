import type { Database } from 'better-sqlite3'
import type { Parts } from './reportParts.ts'
import type { Part } from './reportSums.ts'
import { BLOCK_DEVICES } from './reportTables.ts'
import { LASTS_MS } from './reportTouches.ts'

/** An event of a device. */
export type Touched = { readonly at: number; readonly id: Buffer }

/** What reports forget, and what they keep of it. */
export type ReportClosing = {
  /** The blocks with devices of a campaign. */
  blocks(utm: number, since: number): readonly number[]
  /**
   * The figures of one block from `since` to before `until`. Notes where the touches after `until` continue, so that a
   * later report counts no device twice. The notes are used as soon as the closed figures end at `until`.
   *
   * Call it in a transaction that writes.
   */
  closeBlock(utm: number, block: number, since: number, until: number): Part<string>
  /**
   * Deletes the touches before `since` of some of the customer's devices, and the devices that have no others. Call it in
   * a transaction that writes.
   *
   * @param after Result of the last step. Default: the first device.
   * @returns Where the next step continues. Undefined at the end.
   */
  forgetBefore(customer: number, since: number, max: number, after?: Buffer): Buffer | undefined
  /**
   * Deletes touches of a device. Call it in a transaction that writes.
   *
   * @returns How many there were.
   */
  forgetTouches(device: number, touches: readonly Touched[]): number
  /**
   * Deletes what closing has noted of a device. Call it in a transaction that writes.
   *
   * @returns How many notes there were.
   */
  forgetCarried(device: number): number
  /** Whether nothing is known of a device. Then its number may be given to another, so it must be dropped. */
  isEmpty(device: number): boolean
}

/**
 * A report counts a device once, and an event for the last visit in the seven days before it. So when the touches of a
 * device are deleted, two things are noted for each campaign, without an event: which steps the device has reached, as
 * long as it has later visits of the campaign; and the time of its last visit, until seven days after it. Figures are
 * then the same before and after (docs/decisions.md, "Closed figures").
 */
export function createReportClosing(database: Database, parts: Parts): ReportClosing {
  const carriedBlocks = database
    .prepare<[number, number], number>(
      `SELECT DISTINCT device / ${BLOCK_DEVICES} FROM carried WHERE utm = ? AND until = ?`,
    )
    .pluck()
  const visitsAgain = database
    .prepare<[number, number, number], number>(
      `SELECT EXISTS (
         SELECT 1 FROM touches INDEXED BY visits_by_utm WHERE utm = ? AND device = ? AND at >= ?
       )`,
    )
    .pluck()
  const dropCarried = database.prepare<[number, number, number, number]>(
    'DELETE FROM carried WHERE utm = ? AND until = ? AND device BETWEEN ? AND ?',
  )
  const carry = database.prepare<[number, number, number, number, number | null]>(
    'INSERT INTO carried (device, utm, until, reached, visit_at) VALUES (?, ?, ?, ?, ?)',
  )
  /** Otherwise every closing would visit the blocks of all campaigns that ever were. */
  const dropUnused = database.prepare<
    [{ utm: number; block: number; first: number; last: number }]
  >(
    `DELETE FROM parts WHERE utm = @utm AND block = @block AND NOT EXISTS (
       SELECT 1 FROM touches INDEXED BY visits_by_utm WHERE utm = @utm AND device BETWEEN @first AND @last
     )`,
  )
  const devicesAfter = database
    .prepare<[number, Buffer, number], readonly [hash: Buffer, device: number]>(
      'SELECT hash, device FROM devices WHERE customer = ? AND hash > ? ORDER BY hash LIMIT ?',
    )
    .raw()
  const dropTouches = database.prepare<[number, number]>(
    'DELETE FROM touches WHERE device = ? AND at < ?',
  )
  const dropOthers = database.prepare<[number, number]>(
    'DELETE FROM carried WHERE device = ? AND until <> ?',
  )
  const isEmpty = database
    .prepare<[number, number], number>(
      `SELECT NOT EXISTS (SELECT 1 FROM touches WHERE device = ?)
         AND NOT EXISTS (SELECT 1 FROM carried WHERE device = ?)`,
    )
    .pluck()
  const dropDevice = database.prepare<[number, Buffer]>(
    'DELETE FROM devices WHERE customer = ? AND hash = ?',
  )
  const campaignsOf = database
    .prepare<[number, number], number>(
      `SELECT utm FROM touches INDEXED BY visits_by_device WHERE utm IS NOT NULL AND device = ?
       UNION SELECT utm FROM carried WHERE device = ?`,
    )
    .pluck()
  const markPart = database.prepare<[number, number]>(
    'UPDATE parts SET figures = NULL WHERE utm = ? AND block = ?',
  )
  const dropAllCarried = database.prepare<[number]>('DELETE FROM carried WHERE device = ?')

  const dropTouch = database.prepare<[number, number, Buffer]>(
    'DELETE FROM touches WHERE device = ? AND at = ? AND id = ?',
  )

  function markParts(device: number): void {
    for (const utm of campaignsOf.all(device, device))
      markPart.run(utm, Math.floor(device / BLOCK_DEVICES))
  }

  return {
    blocks: (utm, since) => [...new Set([...parts.blocks(utm), ...carriedBlocks.all(utm, since)])],
    closeBlock(utm, block, since, until) {
      const { part, carried } = parts.makePart(utm, block, since, until)
      const [first, last] = [block * BLOCK_DEVICES, (block + 1) * BLOCK_DEVICES - 1]
      dropCarried.run(utm, until, first, last)
      let carries = false
      for (const { device, reached, visitAt } of carried) {
        const lasts = visitAt !== null && visitAt + LASTS_MS >= until
        if (!lasts && visitsAgain.get(utm, device, until) !== 1) continue
        carry.run(device, utm, until, reached, lasts ? visitAt : null)
        carries = true
      }
      // A device whose visit is carried has touches that count, but none that is a visit.
      if (!carries && part.names.length === 0) dropUnused.run({ utm, block, first, last })
      return parts.toTexts(part)
    },
    forgetBefore(customer, since, max, after = Buffer.alloc(0)) {
      const devices = devicesAfter.all(customer, after, max)
      for (const [hash, device] of devices) {
        dropTouches.run(device, since)
        dropOthers.run(device, since)
        if (isEmpty.get(device, device) === 1) dropDevice.run(customer, hash)
      }
      return devices.length < max ? undefined : devices.at(-1)?.[0]
    },
    forgetTouches(device, touches) {
      markParts(device)
      let count = 0
      for (const { at, id } of touches) count += dropTouch.run(device, at, id).changes
      return count
    },
    forgetCarried(device) {
      markParts(device)
      return dropAllCarried.run(device).changes
    },
    isEmpty: (device) => isEmpty.get(device, device) === 1,
  }
}
