import { createHash } from 'node:crypto'
import type { Database } from 'better-sqlite3'
import type { Utm } from '../campaigns/utm.ts'
import { createCache } from './reportCache.ts'
import type { Customer, Customers } from './reportCustomers.ts'
import { OTHER, OTHER_UTM } from './reportTotals.ts'
import type { Device } from './reportTrail.ts'

/** Devices that are remembered, about 300 bytes each. */
const MOST_DEVICES = 5_000
/** Names and utm values that are remembered, each. */
const MOST_NAMES = 2_000
/** Longer texts are remembered by their hash, UTF-16 units. */
const MAX_KEY_LENGTH = 200
/** Longer event names are counted as `(other)`, UTF-16 units: a report shows a hundred. */
const MAX_NAME_LENGTH = 200

/** Short numbers for what may be long. What is new gets one while the day's bounds allow it. */
export type Numbers = {
  /** Undefined where it is one device too many: its events are not counted. */
  device(customer: Customer, did: string): Device | undefined
  /** OTHER_UTM where they are too many. */
  utm(customer: Customer, utm: Utm): number
  name(customer: Customer, event: string): number
  /** Utm values of a campaign: they have a number whatever else there is, and of the bounds they take nothing. */
  addCampaign(customerId: string, utm: Utm): void
  find(customerId: string, utm: Utm): { readonly utm: number; readonly since: number } | undefined
  /** Drops what is remembered: the tables have changed. */
  forget(): void
}

/** @param lastVisit Of a device that was there before. */
export function createNumbers(
  database: Database,
  customers: Customers,
  lastVisit: (device: number) => Device['visit'],
): Numbers {
  const findDevice = database.prepare<[Buffer], { device: number; moved: number }>(
    'SELECT device, moved FROM devices WHERE hash = ?',
  )
  const addDevice = database.prepare<[Buffer]>('INSERT INTO devices (hash) VALUES (?)')
  const findUtm = database.prepare<[Buffer], { utm: number; since: number }>(
    'SELECT utm, since FROM utms WHERE hash = ?',
  )
  const addUtm = database.prepare<[Buffer, number]>(
    'INSERT INTO utms (hash, since) VALUES (?, ?) ON CONFLICT DO NOTHING',
  )
  const findName = database
    .prepare<[number, string], number>('SELECT name FROM names WHERE customer = ? AND text = ?')
    .pluck()
  const addName = database.prepare<[number, string]>(
    'INSERT INTO names (customer, text) VALUES (?, ?)',
  )
  const devices = createCache<Device>(MOST_DEVICES)
  const utms = createCache<number>(MOST_NAMES)
  const names = createCache<number>(MOST_NAMES)

  function nameNumber(customer: Customer, text: string): number {
    const number = names.get(keyOf(customer, text), () => {
      const found = findName.get(customer.customer, text)
      if (found !== undefined) return found
      if (text !== OTHER && !customers.admits(customer, 'names')) return undefined
      return Number(addName.run(customer.customer, text).lastInsertRowid)
    })
    return number ?? nameNumber(customer, OTHER)
  }

  return {
    device(customer, did) {
      return devices.get(keyOf(customer, did), () => {
        const hash = hashOf([customer.id, did])
        const found = findDevice.get(hash)
        if (found) return { ...found, visit: lastVisit(found.device) }
        if (!customers.admits(customer, 'devices')) return undefined
        return { device: Number(addDevice.run(hash).lastInsertRowid), moved: 0, visit: null }
      })
    },
    utm(customer, utm) {
      const texts = textsOf(customer.id, utm)
      const number = utms.get(keyOf(customer, JSON.stringify(texts)), () => {
        const hash = hashOf(texts)
        const found = findUtm.get(hash)
        if (found) return found.utm
        const since = customers.sinceOf(customer)
        if (!customers.admits(customer, 'utms')) return undefined
        return Number(addUtm.run(hash, since).lastInsertRowid)
      })
      return number ?? OTHER_UTM
    },
    name: (customer, event) => nameNumber(customer, event.length > MAX_NAME_LENGTH ? OTHER : event),
    addCampaign(customerId, utm) {
      const since = customers.sinceOf(customers.find(customerId))
      addUtm.run(hashOf(textsOf(customerId, utm)), since)
    },
    find: (customerId, utm) => findUtm.get(hashOf(textsOf(customerId, utm))),
    forget() {
      devices.clear()
      utms.clear()
      names.clear()
    },
  }
}

const textsOf = (customerId: string, utm: Utm): readonly string[] => [
  ...[customerId, utm.utm_campaign, utm.utm_medium, utm.utm_source],
]

/** 16 bytes for texts of any length, which two different lists do not share. */
const hashOf = (texts: readonly string[]): Buffer =>
  createHash('sha256').update(JSON.stringify(texts)).digest().subarray(0, 16)

/** For the caches, where a short text is cheaper than its hash. */
const keyOf = ({ customer }: Customer, text: string): string =>
  text.length <= MAX_KEY_LENGTH
    ? `${customer} ${text}`
    : `${customer}#${hashOf([text]).toString('latin1')}`
