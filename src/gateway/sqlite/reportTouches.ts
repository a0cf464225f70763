import type { Database } from 'better-sqlite3'
import { type Utm, utmOf } from '../campaigns/utm.ts'
import { pushTo } from '../lib/pushTo.ts'
import type { Blocks, Touch } from './reportBlocks.ts'
import { type Detail, kindOf, MAY_VISIT, type ReportLog, type Row } from './reportLog.ts'
import type { Customer, Device, Numbers } from './reportNumbers.ts'
import type { ReportOrders } from './reportOrders.ts'
import type { Seen } from './reportSeen.ts'
import { LASTS_MS, STEP } from './reportSums.ts'
import { BLOCK_DEVICES, createMarkPart } from './reportTables.ts'
import type { Visitors } from './reportVisitors.ts'

/** By operation, so a customer's own event names and its prefix make no difference. */
const STEPS: ReadonlyMap<string, number> = new Map([
  ['viewProduct', STEP.viewProduct],
  ['addToCart', STEP.addToCart],
  ['initiateCheckout', STEP.initiateCheckout],
  ['setEmail', STEP.identified],
  ['sendCustom', STEP.identified],
])

/** An event of a customer, and the short hash of its device: 0 if it is an order or a status, which have no device. */
export type CustomerRow = { readonly row: Row; readonly hash: number }

/** The events of devices that have visited, and the orders. */
export type Touches = {
  /**
   * Adds the next events of a customer. Call it in a transaction that writes, before the events are added to `seen`.
   *
   * @param since Events that happened before this are in closed figures, or too old for a report, and are not added.
   */
  add(customer: Customer, rows: readonly CustomerRow[], since: number): void
}

/** The place of an event in the order in which the events of a device count. */
type Place = { readonly at: number; readonly id: Buffer }

/** The events that a visit has made count, and that were read before it. */
type Wanted = {
  readonly device: number
  /** The visit. */
  readonly visit: OfDevice
  /** The first and the last time of the events. */
  readonly from: number
  readonly to: number
  /** The next visit. Events from it on count already. */
  readonly next: Place | undefined
}
/** A touch, and when it began to count: at its own position, or at that of a visit that arrived later. */
type Written = {
  readonly detail: Detail
  readonly device: number
  readonly utm: number | null
  readonly seq: number
  readonly receivedAt: number
}

/**
 * Writes the events that may count: those of a device up to seven days after a visit, whether the visit arrives before
 * them or after them. A visit in the usual order is written when it arrives, and so are the events after it. A late one
 * also brings the events up to it that have arrived earlier: they are found by the short hash of their device, and read
 * from the log.
 *
 * An event that arrives changes at most two campaigns: that of the last visit before it and, if it is a visit, its own.
 *
 * What is written depends on the log alone, and not on how many events are added at once.
 */
export function createTouches(
  database: Database,
  log: ReportLog,
  parts: {
    numbers: Numbers
    visitors: Visitors
    seen: Seen
    blocks: Blocks
    orders: ReportOrders
  },
): Touches {
  const { numbers, visitors, seen, blocks, orders } = parts
  const addVisit = database.prepare<[number, number, Buffer, number]>(
    'INSERT OR IGNORE INTO visits (device, at, id, utm) VALUES (?, ?, ?, ?)',
  )
  const visitBefore = database.prepare<
    [number, number, Buffer, number],
    { at: number; utm: number }
  >(
    `SELECT at, utm FROM visits WHERE device = ? AND (at, id) < (?, ?) AND at >= ?
     ORDER BY at DESC, id DESC LIMIT 1`,
  )
  const visitAfter = database.prepare<[number, number, Buffer], Place>(
    'SELECT at, id FROM visits WHERE device = ? AND (at, id) > (?, ?) ORDER BY at, id LIMIT 1',
  )
  /** Like visitBefore, for the visits that are deleted. */
  const carriedBefore = database
    .prepare<[number, number, number, number], number>(
      `SELECT utm FROM carried
       WHERE device = ? AND until = ? AND visit_at BETWEEN ? AND ? ORDER BY visit_at DESC LIMIT 1`,
    )
    .pluck()
  const markPart = createMarkPart(database)

  /** Collects what one call of `add` changes. */
  function createChanges(customer: Customer, since: number) {
    const written: Written[] = []
    const changed = new Map<string, readonly [utm: number, device: number]>()

    function change(utm: number | undefined, device: number): void {
      if (utm === undefined) return
      const block = Math.floor(device / BLOCK_DEVICES)
      changed.set(`${utm} ${block}`, [utm, device])
    }

    return {
      write: (touch: Written) => void written.push(touch),
      change,
      /** The campaign of the last visit before a time, if that visit is deleted. */
      carriedBefore: (device: number, at: number): number | undefined =>
        at - LASTS_MS < since ? carriedBefore.get(device, since, at - LASTS_MS, at) : undefined,
      end(): void {
        // In this order new names get their numbers, so that the names that are kept depend on the log alone.
        written.sort((a, b) => a.seq - b.seq || a.detail.seq - b.detail.seq)
        blocks.add(
          written.map(
            ({ detail: { id, at, event, operation }, device, utm, receivedAt }): Touch => ({
              device,
              at,
              id,
              name: numbers.name(customer, event, receivedAt),
              step: STEPS.get(operation) ?? STEP.any,
              utm,
            }),
          ),
        )
        for (const part of changed.values()) markPart(...part)
      },
    }
  }

  return {
    add(customer, rows, since) {
      const first = rows[0]?.row[0]
      if (first === undefined) return
      const changes = createChanges(customer, since)
      const hashes = new Map(rows.map(({ row, hash }) => [row[0], hash]))
      /** By short hash. */
      const wanted = new Map<number, Wanted[]>()
      /** Positions of the events that are written. */
      const done = new Set<number>()

      const isVisit = (row: Row) => (row[4] & MAY_VISIT) !== 0 && row[3] >= since && row[2] !== null
      const readable = rows.filter(({ row }) => kindOf(row) !== 0 || isVisit(row))
      for (const detail of log.details(readable.map(seqOf), true)) {
        if (detail.customer !== customer.id) continue
        orders.add(customer, detail, since, changes.change)
        const values = detail.at >= since ? utmIn(detail) : undefined
        if (values !== undefined && isOf(detail, customer)) addVisitOf(detail, values)
      }
      if (wanted.size > 0) addEarlier(first)
      const later = rows.filter(
        ({ row, hash }) =>
          row[2] !== null && visitors.has(hash) && row[3] >= since && !done.has(row[0]),
      )
      for (const detail of log.details(later.map(seqOf), false))
        if (isOf(detail, customer)) addEvent(detail)
      changes.end()

      function addVisitOf(visit: OfDevice, values: Utm): void {
        const { seq, at, id, receivedAt } = visit
        const hash = hashes.get(seq) as number
        const device = numbers.device(customer, deviceOf(visit), hash)
        const utm = numbers.utm(customer, values, visit.bot === 1)
        const before = visitBefore.get(device, at, id, at - LASTS_MS)
        const next = visitAfter.get(device, at, id)
        visitors.add(hash)
        addVisit.run(device, at, id, utm)
        changes.write({ detail: visit, device, utm, seq, receivedAt })
        changes.change(utm, device)
        changes.change(before?.utm ?? changes.carriedBefore(device, at), device)
        orders.visited(customer, deviceOf(visit), { device, at, id, utm }, changes.change)
        done.add(seq)
        // What the visit before it has made count is written already.
        const from = Math.max(at, since, before ? before.at + LASTS_MS + 1 : at)
        const to = Math.min(at + LASTS_MS, next?.at ?? Number.POSITIVE_INFINITY)
        if (from > to) return
        pushTo(wanted, hash, { device, visit, from, to, next })
      }

      /** Adds the events that were read before the visits that they belong to. */
      function addEarlier(end: number): void {
        const all = [...wanted.values()].flat()
        const oldest = all.reduce((least, { from }) => Math.min(least, from), all[0]?.from ?? 0)
        const seqs = seen.find(wanted.keys(), oldest, end, customer.customer)
        for (const { row, hash } of rows)
          if (wanted.get(hash)?.some(({ visit }) => row[0] < visit.seq)) seqs.push(row[0])
        const byDid = new Map<string, Wanted[]>()
        for (const part of all) pushTo(byDid, part.visit.did, part)
        for (const detail of log.details(seqs, false)) {
          if (done.has(detail.seq) || !isOf(detail, customer)) continue
          const part = byDid.get(detail.did)?.find((part) => isIn(part, detail))
          if (!part) continue
          const { device, visit } = part
          const { seq, receivedAt } = visit
          changes.write({ detail, device, utm: null, seq, receivedAt })
          done.add(detail.seq)
        }
      }

      /** Adds an event of a device that may have visited. */
      function addEvent(detail: OfDevice): void {
        const device = numbers.findDevice(customer, deviceOf(detail))
        if (device === undefined) return
        const { seq, at, id, receivedAt } = detail
        const utm =
          visitBefore.get(device, at, id, at - LASTS_MS)?.utm ?? changes.carriedBefore(device, at)
        if (utm === undefined) return
        changes.write({ detail, device, utm: null, seq, receivedAt })
        changes.change(utm, device)
      }
    },
  }
}

const seqOf = ({ row }: CustomerRow): number => row[0]

const isBefore = (a: Place, b: Place): boolean =>
  a.at < b.at || (a.at === b.at && a.id.compare(b.id) < 0)

const isIn = ({ visit, from, to, next }: Wanted, event: Detail): boolean =>
  event.bot === visit.bot &&
  event.seq < visit.seq &&
  event.at >= from &&
  event.at <= to &&
  isBefore(visit, event) &&
  (next === undefined || isBefore(event, next))

/** An event may have been removed since its row was read. */
const isOf = (detail: Detail, { id }: Customer): detail is OfDevice =>
  detail.customer === id && detail.did !== null
type OfDevice = Detail & { readonly did: string }

const deviceOf = ({ did, bot }: OfDevice): Device => ({ did, isBot: bot === 1 })

function utmIn({ payload }: Detail): Utm | undefined {
  try {
    return utmOf(JSON.parse(payload)?.url)
  } catch {
    // The gateway stores only JSON. Anything else is an event without a URL, and does not stop all reports.
    return undefined
  }
}
