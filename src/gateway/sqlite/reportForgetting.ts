import type { Database } from 'better-sqlite3'
import type { ReportClosing, Touched } from './reportClosing.ts'
import type { ReportLog } from './reportLog.ts'
import type { Customer, Device, Numbers } from './reportNumbers.ts'
import type { ReportOrders } from './reportOrders.ts'
import type { OrdersPlace } from './reportOrdersForgetting.ts'
import type { Seen } from './reportSeen.ts'
import { createMarkPart } from './reportTables.ts'

/** An event of the log. */
export type ReadEvent = {
  readonly seq: number
  readonly at: number
  readonly id: Buffer
  readonly did: string | null
}

/** Rows of `seen` that are swept in a transaction. */
const SWEPT_ROWS = 4

/** How the connection writes: each of these functions is called in a transaction. */
type Writing<Position extends { readonly seq: number }> = {
  /** The position of the reports. */
  readonly begin: () => Position
  /** Lets all connections forget what they remember. */
  readonly tellOthers: (begun: Position) => void
  readonly numbers: Numbers
  readonly closing: ReportClosing
  readonly seen: Seen
  readonly orders: ReportOrders
}

/** Deletes from the reports what is closed, removed or erased. See ReportStore for each function. */
export function createReportForgetting<Position extends { readonly seq: number }>(
  database: Database,
  log: ReportLog,
  { begin, tellOthers, numbers, closing, seen, orders }: Writing<Position>,
) {
  const forgottenOf = database
    .prepare<[string], number>('SELECT forgotten FROM customers WHERE id = ?')
    .pluck()
  const setForgotten = database.prepare<[number, number]>(
    'UPDATE customers SET forgotten = ? WHERE customer = ?',
  )
  const sweptOf = database
    .prepare<[string], number>('SELECT seq FROM swept WHERE customer = ?')
    .pluck()
  const setSwept = database.prepare<[string, number]>(
    'INSERT OR REPLACE INTO swept (customer, seq) VALUES (?, ?)',
  )
  /** Where forgetting continues: with the blocks of devices, then with the orders. Another start begins again. */
  let place:
    | {
        readonly id: string
        readonly since: number
        /** The block of devices that the last step was about. */
        readonly block?: number
        /** Undefined until all blocks are done. */
        readonly orders?: OrdersPlace
      }
    | undefined
  const markPart = createMarkPart(database)

  /** The numbers of a device id: as that of a person and of a bot. */
  const numbersOf = (customer: Customer, did: string | null): number[] =>
    did === null ? [] : bothOf(did).flatMap((device) => numbers.findDevice(customer, device) ?? [])

  const forgetClosed = database.transaction((id: string, since: number): void => {
    const begun = begin()
    const customer = numbers.customers().get(id)
    if (!customer) return
    const from = place?.id === id && place.since === since ? place : undefined
    // The blocks first: links of devices that are left stay.
    const block = from?.orders
      ? undefined
      : closing.forgetBefore(customer.customer, since, from?.block)
    if (block !== undefined) place = { id, since, block }
    else {
      const next = orders.forgetBefore(customer.customer, since, from?.orders)
      place = next && { id, since, orders: next }
      if (!next) setForgotten.run(since, customer.customer)
    }
    tellOthers(begun)
  })

  const forgetSwept = database.transaction((id: string, to: number): void => {
    const upTo = Math.min(to, begin().seq)
    let after: number | undefined = sweptOf.get(id) ?? 0
    for (let rows = 0; rows < SWEPT_ROWS && after !== undefined && after < upTo; rows++) {
      after = seen.sweep(after, upTo, log.kept)
      setSwept.run(id, after === undefined ? to : Math.min(after, upTo))
    }
  })

  const forgetEvents = database.transaction((id: string, events: readonly ReadEvent[]): number => {
    const begun = begin()
    const customer = numbers.customers().get(id)
    const seqs = events.filter(({ did }) => did !== null).map(({ seq }) => seq)
    const count = seen.drop(seqs, customer?.customer)
    if (!customer) return count
    const touched: Touched[] = []
    for (const { did, at, id } of events)
      for (const device of numbersOf(customer, did)) touched.push({ device, at, id })
    orders.forgetSaves(
      events.filter(({ did }) => did === null).map(({ seq }) => seq),
      markPart,
    )
    const dids = new Set(events.flatMap(({ did }) => did ?? []))
    orders.forgetLinks(customer, [...dids].flatMap(bothOf))
    closing.forgetTouches(touched)
    tellOthers(begun)
    return count
  })

  const forgetDevices = database.transaction((id: string, dids: readonly string[]): void => {
    const begun = begin()
    const customer = numbers.customers().get(id)
    if (!customer) return
    orders.forgetLinks(customer, dids.flatMap(bothOf))
    closing.forgetCarried(dids.flatMap((did) => numbersOf(customer, did)))
    tellOthers(begun)
  })

  return {
    forgetClosed(): boolean {
      const found = log.allClosed().find(([id, since]) => (forgottenOf.get(id) ?? since) < since)
      if (found) forgetClosed.immediate(...found)
      return found !== undefined
    },
    forgetSwept(position: number): boolean {
      const found = log
        .swept()
        .find(([id, seq]) => (sweptOf.get(id) ?? 0) < Math.min(seq, position))
      if (found) forgetSwept.immediate(...found)
      return found !== undefined
    },
    forgetEvents: (customer: string, events: readonly ReadEvent[]) =>
      forgetEvents.immediate(customer, events),
    forgetDevices: (customer: string, dids: readonly string[]) =>
      forgetDevices.immediate(customer, dids),
  }
}

/** A device id as that of a person and of a bot. */
const bothOf = (did: string): Device[] => [
  { did, isBot: false },
  { did, isBot: true },
]
