import type { LogRecord } from '../collect/eventLog.ts'
import { openDatabase } from './database.ts'
import type { Position } from './forwardStore.ts'
import { createOrderRows } from './orderRows.ts'
import { EVENTS_SCHEMA } from './store.ts'
import { bytesOf, uuidOf } from './uuid.ts'

/** A record of the log. One that was removed has no operation and no payload. */
export type ForwardRecord = LogRecord & { readonly isCookieless: boolean }

/** Reads events.db for the forwarding. Synchronous; changes nothing. */
export type ForwardLog = {
  /** A number that changes when another connection, of this process or another, has written. */
  version(): number
  /** The position of the newest event of all customers. */
  end(): Position
  /** A position with the event that is there. */
  at(seq: number): Position
  /** The position before the first event of a customer that arrived at or after a time, ms since 1970. */
  before(customer: string, time: number): Position
  /**
   * A position in this log. If it was replaced, such as by a backup, and the position is one of the other log: that of
   * the last event that arrived not after the event there.
   */
  locate(customer: string, position: Position): Position
  /** Records of a customer after a position, in order, removed ones too. */
  read(customer: string, after: number, max: number): IterableIterator<ForwardRecord>
  /** Undefined if it was removed, or if the log was replaced and has another event there. */
  find(customer: string, seq: number, id: string): ForwardRecord | undefined
  /** The payload of an order as it was saved last, JSON. Undefined if it was not saved, or was removed. */
  order(customer: string, number: string): string | undefined
  /** Whether the order of a save, or of a status, has a newer one. False for other records. */
  isReplaced(record: ForwardRecord): boolean
  /** Whether the event was removed. */
  isRemoved(seq: number): boolean
  /** How many records a customer has after one position, up to another one. */
  count(customer: string, after: number, upTo: number): number
  /** When the first event of a customer after a position arrived, ms since 1970. Undefined if there is none. */
  firstAfter(customer: string, after: number): number | undefined
  /** The retention has removed all events of the customer up to this position. */
  swept(customer: string): number
  close(): void
}

type Row = Omit<LogRecord, 'id' | 'bot'> & {
  readonly id: Buffer
  readonly bot: number
  readonly cookieless: number | null
}
type Place = { readonly seq: number; readonly id: Buffer; readonly receivedAt: number }

/** The hash of a day is a UUID of version 8, see daySalt.ts. */
const DAY_DID = /^[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-/

/** @param file Path of events.db. It exists. */
export function openForwardLog(file: string): ForwardLog {
  const database = openDatabase(file, EVENTS_SCHEMA)
  database.pragma('query_only = ON')
  const columns =
    'seq, customer, id, received_at AS receivedAt, at, operation, event, did, bot, payload, version, cookieless'
  const ofCustomer = 'FROM events INDEXED BY events_by_customer WHERE customer = ?'
  const dataVersion = database.prepare<[], number>('PRAGMA data_version').pluck()
  const newest = database
    .prepare<[], number>("SELECT seq FROM sqlite_sequence WHERE name = 'events'")
    .pluck()
  const placeOf = database.prepare<[number], Place>(
    'SELECT seq, id, received_at AS receivedAt FROM events WHERE seq = ?',
  )
  const read = database.prepare<[string, number, number], Row>(
    `SELECT ${columns} ${ofCustomer} AND seq > ? ORDER BY seq LIMIT ?`,
  )
  const one = database.prepare<[number, string, Buffer], Row>(
    `SELECT ${columns} FROM events WHERE seq = ? AND customer = ? AND id = ? AND operation <> ''`,
  )
  const { findOrder, findNewest } = createOrderRows(database)
  const orderAt = database
    .prepare<[number], string>(
      "SELECT payload FROM events WHERE seq = ? AND operation = 'saveOrder'",
    )
    .pluck()
  const isKept = database
    .prepare<[number], number>("SELECT 1 FROM events WHERE seq = ? AND operation <> ''")
    .pluck()
  const count = database
    .prepare<[string, number, number], number>(
      `SELECT count(*) ${ofCustomer} AND seq > ? AND seq <= ?`,
    )
    .pluck()
  const first = database.prepare<[string, number], Place>(
    `SELECT seq, id, received_at AS receivedAt ${ofCustomer} AND seq > ? AND operation <> '' ORDER BY seq LIMIT 1`,
  )
  const backwards = database.prepare<[string], Place>(
    `SELECT seq, id, received_at AS receivedAt ${ofCustomer} AND operation <> '' ORDER BY seq DESC`,
  )
  const swept = database
    .prepare<[string], number>('SELECT seq FROM swept WHERE customer = ?')
    .pluck()

  const toPosition = (seq: number): Position => {
    const place = placeOf.get(seq)
    return place
      ? { seq, event: uuidOf(place.id), receivedAt: place.receivedAt || null }
      : { seq, event: null, receivedAt: null }
  }
  const end = (): Position => toPosition(newest.get() ?? 0)

  return {
    version: () => dataVersion.get() as number,
    end,
    at: toPosition,
    before(customer, time) {
      // Binary search: the log is in the order of arrival, but for clocks that went back.
      let low = 0
      let high = newest.get() ?? 0
      while (low < high) {
        const middle = Math.floor((low + high) / 2)
        const found = first.get(customer, middle)
        if (!found || found.receivedAt >= time) high = middle
        else low = found.seq
      }
      return toPosition(low)
    },
    locate(customer, position) {
      const { seq, event, receivedAt } = position
      const last = newest.get() ?? 0
      const there = placeOf.get(seq)
      const isHere = seq <= last && (!there || event === null || uuidOf(there.id) === event)
      if (isHere) return position
      if (receivedAt === null) return end()
      for (const place of backwards.iterate(customer))
        if (place.receivedAt <= receivedAt) return toPosition(place.seq)
      return toPosition(0)
    },
    *read(customer, after, max) {
      for (const row of read.iterate(customer, after, max)) yield toRecord(row)
    },
    find(customer, seq, id) {
      const row = one.get(seq, customer, bytesOf(id))
      return row && toRecord(row)
    },
    order: (customer, number) => orderAt.get(findOrder(customer, number)?.seq ?? 0),
    isReplaced({ customer, operation, payload, seq }) {
      if (operation !== 'saveOrder' && operation !== 'updateOrderStatus') return false
      const { number, order_number = number } = JSON.parse(payload) as Record<string, unknown>
      return (findNewest(customer, `${order_number}`)?.[operation] ?? 0) > seq
    },
    isRemoved: (seq) => isKept.get(seq) === undefined,
    count: (customer, after, upTo) => count.get(customer, after, upTo) as number,
    firstAfter: (customer, after) => first.get(customer, after)?.receivedAt,
    swept: (customer) => swept.get(customer) ?? 0,
    close: () => void database.close(),
  }
}

const toRecord = ({ cookieless, ...row }: Row): ForwardRecord => ({
  ...row,
  id: uuidOf(row.id),
  bot: row.bot === 1,
  // Gateways of earlier versions did not store it.
  isCookieless: cookieless === null ? isDayHash(row.did) : cookieless === 1,
})

/** Whether a device id is the hash of a day. */
export const isDayHash = (did: string | null): boolean => DAY_DID.test(did ?? '')
