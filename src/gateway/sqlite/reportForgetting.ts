import type { Database } from 'better-sqlite3'
import type { ReportClosing, Touched } from './reportClosing.ts'
import type { Numbers } from './reportNumbers.ts'

/** An event of the log. */
export type ReadEvent = Touched & { readonly did: string | null }

/** How the connection writes: each of these functions is called in a transaction. */
type Writing<Position> = {
  /** The position of the reports. */
  readonly begin: () => Position
  /** Lets all connections forget what they remember. */
  readonly tellOthers: (begun: Position) => void
  readonly numbers: Numbers
  readonly closing: ReportClosing
}

/** Deletes from the reports what is closed or erased. See ReportStore for each function. */
export function createReportForgetting<Position>(
  database: Database,
  { begin, tellOthers, numbers, closing }: Writing<Position>,
) {
  const forgottenOf = database
    .prepare<[string], number>('SELECT forgotten FROM customers WHERE id = ?')
    .pluck()
  const setForgotten = database.prepare<[number, number]>(
    'UPDATE customers SET forgotten = ? WHERE customer = ?',
  )
  /** Where forgetting continues. Another start begins again. */
  let place: { readonly id: string; readonly since: number; readonly after: Buffer } | undefined

  const forgetClosed = database.transaction((id: string, since: number, max: number): void => {
    const begun = begin()
    const customer = numbers.customer(id)
    const after = place?.id === id && place.since === since ? place.after : undefined
    const next = closing.forgetBefore(customer.customer, since, max, after)
    place = next && { id, since, after: next }
    if (!next) setForgotten.run(since, customer.customer)
    tellOthers(begun)
  })

  /**
   * Deletes some of what is known of devices, in one transaction, and the devices of which nothing is left.
   *
   * @param change Returns how much it has deleted.
   */
  function changeDevices(
    id: string,
    dids: Iterable<string>,
    change: (device: number, did: string) => number,
  ): number {
    const begun = begin()
    const customer = numbers.customer(id)
    let count = 0
    for (const did of dids) {
      const device = numbers.findDevice(customer, did)
      if (device === undefined) continue
      count += change(device, did)
      if (closing.isEmpty(device)) numbers.dropDevice(customer, did)
    }
    if (count > 0) tellOthers(begun)
    return count
  }

  const forgetEvents = database.transaction((id: string, events: readonly ReadEvent[]): number => {
    const byDevice = new Map<string, ReadEvent[]>()
    for (const event of events) {
      const { did } = event
      if (did === null) continue
      const others = byDevice.get(did)
      if (others) others.push(event)
      else byDevice.set(did, [event])
    }
    return changeDevices(id, byDevice.keys(), (device, did) =>
      closing.forgetTouches(device, byDevice.get(did) ?? []),
    )
  })

  const forgetDevices = database.transaction((id: string, dids: readonly string[]): void => {
    changeDevices(id, dids, closing.forgetCarried)
  })

  return {
    /** @param closed The customers with closed figures, and where these end, ms since 1970. */
    forgetClosed(closed: readonly (readonly [id: string, since: number])[], max: number): boolean {
      const found = closed.find(([id, since]) => (forgottenOf.get(id) ?? since) < since)
      if (found) forgetClosed.immediate(...found, max)
      return found !== undefined
    },
    forgetEvents: (customer: string, events: readonly ReadEvent[]) =>
      forgetEvents.immediate(customer, events),
    forgetDevices: (customer: string, dids: readonly string[]) =>
      forgetDevices.immediate(customer, dids),
  }
}
