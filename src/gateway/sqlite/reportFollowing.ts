import { pushTo } from '../lib/pushTo.ts'
import { isOfOrder, type ReportLog, type Row } from './reportLog.ts'
import type { Customer, Numbers } from './reportNumbers.ts'
import type { Seen, SeenEvent } from './reportSeen.ts'
import type { CustomerRow, Touches } from './reportTouches.ts'

/** What was read. */
type Followed = {
  readonly events: number
  readonly isDone: boolean
  /** The position of all customers. */
  readonly seq: number
  /** The position of the last event. Undefined if there was none. */
  readonly last: number | undefined
  /** Whether anything was written. */
  readonly hasChanged: boolean
}

/** Events that are in memory at once. More would survive the collections of garbage, which then take longer. */
const BATCH = 1_000

/** Reads the log. Call `follow` in a transaction that writes. */
export type Following = {
  /** See ReportStore. @param seq The position of all customers. */
  follow(seq: number, max: number, only: string | undefined): Followed
  /** Whether there is nothing to follow. */
  isDone(seq: number, only: string | undefined): boolean
  /** Call it if the tables may have changed. */
  forget(): void
}

/**
 * All customers are read together, in the order of the log, which takes some microseconds an event. Only the events of
 * customers with an e-mail campaign are given to `touches`. When a customer gets its first campaign, its events up to
 * the position of all are read once more.
 */
export function createFollowing(
  log: ReportLog,
  { numbers, seen, touches }: { numbers: Numbers; seen: Seen; touches: Touches },
): Following {
  /** Position of the newest campaign whose customer is known to be counted. */
  let lastCampaign = 0

  /** Counts the customers whose first e-mail campaign is new. */
  function addCustomers(seq: number): boolean {
    const last = log.lastCampaign()
    const ids = last === lastCampaign ? [] : log.withCampaign(lastCampaign)
    const added = ids.filter((id) => !numbers.customers().has(id))
    for (const id of added) numbers.addCustomer(id, seq > 0)
    lastCampaign = last
    return added.length > 0
  }

  const findBehind = (): Customer | undefined =>
    [...numbers.customers().values()].find(({ isBehind }) => isBehind)

  const positionOf = ({ isBehind, seq }: Customer, all: number): number =>
    isBehind ? seq : Math.max(seq, all)

  /** Reads the next events of all customers. */
  function readAll(begun: number, max: number): readonly Row[] {
    const rows = log.events(begun, max)
    const events: SeenEvent[] = []
    const byCustomer = new Map<Customer, CustomerRow[]>()
    const customers = numbers.customers()
    for (const row of rows) {
      const [seq, id, did, at] = row
      if (did === null && !isOfOrder(row)) continue
      const hash = did === null ? 0 : numbers.seen(id, did)
      if (did !== null) events.push({ seq, at, hash })
      const customer = customers.get(id)
      // A customer whose report was requested may have been read further.
      if (!customer || customer.isBehind || seq <= customer.seq) continue
      pushTo(byCustomer, customer, { row, hash })
    }
    for (const [customer, some] of byCustomer) {
      const { nextDevice } = customer
      touches.add(customer, some, log.closedUntil(customer.id))
      if (customer.nextDevice !== nextDevice) numbers.saveCustomer(customer)
    }
    seen.add(events)
    const end = rows.at(-1)?.[0] ?? begun
    for (const { customer, seq } of customers.values())
      if (seq > begun) seen.dropAhead(customer, end)
    return rows
  }

  /** Reads the next events of one customer. */
  function readOne(begun: number, customer: Customer, max: number): readonly Row[] {
    const rows = log.events(positionOf(customer, begun), max, customer.id)
    const some: CustomerRow[] = []
    const ahead: SeenEvent[] = []
    for (const row of rows) {
      const [seq, id, did, at] = row
      if (did === null && !isOfOrder(row)) continue
      const hash = did === null ? 0 : numbers.seen(id, did)
      some.push({ row, hash })
      if (did !== null && seq > begun) ahead.push({ seq, at, hash })
    }
    touches.add(customer, some, log.closedUntil(customer.id))
    seen.add(ahead, customer.customer)
    const isDone = rows.length < max
    customer.seq = rows.at(-1)?.[0] ?? customer.seq
    customer.isBehind &&= !isDone && customer.seq < begun
    numbers.saveCustomer(customer)
    return rows
  }

  return {
    follow(seq, max, only) {
      let hasChanged = addCustomers(seq)
      let customer = only === undefined ? undefined : numbers.customers().get(only)
      if (only !== undefined && !customer) {
        customer = numbers.addCustomer(only, seq > 0)
        hasChanged = true
      }
      // Whoever is behind has its turn when all others are read.
      if (only === undefined && seq >= log.end()) customer = findBehind()
      const wasBehind = customer?.isBehind
      let all = seq
      let last: number | undefined
      let events = 0
      let isDone = false
      while (events < max && !isDone) {
        const asked = Math.min(max - events, BATCH)
        const rows = customer ? readOne(all, customer, asked) : readAll(all, asked)
        events += rows.length
        last = rows.at(-1)?.[0] ?? last
        if (!customer) all = last ?? all
        isDone = rows.length < asked
      }
      return {
        events,
        isDone: isDone && (only !== undefined || !findBehind()),
        seq: all,
        last,
        hasChanged: hasChanged || events > 0 || customer?.isBehind !== wasBehind,
      }
    },
    isDone(seq, only) {
      if (log.lastCampaign() !== lastCampaign) return false
      if (only === undefined) return seq >= log.end() && !findBehind()
      const customer = numbers.customers().get(only)
      return customer !== undefined && positionOf(customer, seq) >= log.end(only)
    },
    forget() {
      lastCampaign = 0
    },
  }
}
