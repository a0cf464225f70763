import { createHash, createHmac } from 'node:crypto'
import type { Database } from 'better-sqlite3'
import type { Utm } from '../campaigns/utm.ts'

/** Events whose own name is not stored are counted under this name. */
export const OTHER = '(other)'

/**
 * The most new event names of a customer that are stored for a day of arrival (UTC). Events with more names are counted
 * as `(other)`. A report shows a hundred names, so only a client that invents names exceeds this.
 */
export const DAILY_NAMES = 1_000

/** The most customers, devices and names in memory, of each kind. A device takes about 300 bytes. */
const MAX_REMEMBERED = 5_000
/** The longest event name that is stored, UTF-16 units. */
const MAX_NAME_LENGTH = 200
/** Longer device ids are remembered as their hash, UTF-16 units. */
const MAX_DID_LENGTH = 200
const DAY_MS = 86_400_000

export type Customer = {
  readonly customer: number
  readonly id: string
  /**
   * Position in the log up to which its events were read. It counts if it is further than the position of all
   * customers.
   */
  readonly seq: number
}

export type Device = {
  readonly device: number
  /** Whether it has visited a campaign. */
  isVisitor: boolean
}

/** Short numbers that stand for texts. A text without a number gets one. */
export type Numbers = {
  customer(id: string): Customer
  device(customer: Customer, did: string): Device
  /** @param receivedAt When the event arrived, ms since 1970. */
  name(customer: Customer, event: string, receivedAt: number): number
  utm(customer: Customer, utm: Utm): number
  /** Undefined if no event had these values. */
  findUtm(customerId: string, utm: Utm): number | undefined
  /** Undefined if the device has no number. */
  findDevice(customer: Customer, did: string): number | undefined
  /** Drops the number of a device. Call it if nothing has this number any more. */
  dropDevice(customer: Customer, did: string): void
  /** Records the position up to which a customer's events were read. */
  move(customer: Customer, seq: number): void
  /** Empties the memory. Call it if the tables may have changed. */
  forget(): void
}

export function createNumbers(database: Database, dailyNames: number): Numbers {
  const findCustomer = database.prepare<[string], Customer>(
    'SELECT customer, id, seq FROM customers WHERE id = ?',
  )
  const addCustomer = database.prepare<[string], Customer>(
    'INSERT INTO customers (id) VALUES (?) RETURNING customer, id, seq',
  )
  const moveCustomer = database.prepare<[number, number]>(
    'UPDATE customers SET seq = ? WHERE customer = ?',
  )
  const countName = database
    .prepare<[Customer & { day: number; dailyNames: number }], number>(
      `UPDATE customers SET day = @day, names = iif(day = @day, names, 0) + 1
       WHERE customer = @customer AND (day <> @day OR names < @dailyNames) RETURNING names`,
    )
    .pluck()
  const findDevice = database.prepare<[number, Buffer], { device: number; isVisitor: number }>(
    `SELECT device, EXISTS (
       SELECT 1 FROM touches INDEXED BY visits_by_device WHERE utm IS NOT NULL AND touches.device = devices.device
     ) OR EXISTS (SELECT 1 FROM carried WHERE carried.device = devices.device) AS isVisitor
     FROM devices WHERE customer = ? AND hash = ?`,
  )
  const secretOf = database.prepare<[], Buffer>('SELECT secret FROM position').pluck()
  const addDevice = database.prepare<[number, Buffer, number]>(
    'INSERT INTO devices VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
  )
  const eraseDevice = database.prepare<[number, Buffer]>(
    'DELETE FROM devices WHERE customer = ? AND hash = ?',
  )
  // A device gets its number with its first touch.
  const lastDevice = database
    .prepare<[], number>(
      'SELECT max((SELECT coalesce(max(device), 0) FROM touches), (SELECT coalesce(max(device), 0) FROM carried))',
    )
    .pluck()
  const findName = database
    .prepare<[number, string], number>('SELECT name FROM names WHERE customer = ? AND text = ?')
    .pluck()
  const addName = database.prepare<[number, string]>(
    'INSERT INTO names (customer, text) VALUES (?, ?)',
  )
  const findUtm = database.prepare<[Buffer], number>('SELECT utm FROM utms WHERE hash = ?').pluck()
  const addUtm = database.prepare<[Buffer]>('INSERT INTO utms (hash) VALUES (?)')

  const customers = new Map<string, Customer>()
  const devices = new Map<string, Device>()
  const names = new Map<string, number>()
  /** The highest number of a device. Undefined until it is needed. */
  let lastDeviceNumber: number | undefined
  let secret: Buffer | undefined

  const hashOfDevice = (customer: Customer, did: string): Buffer => {
    secret ??= secretOf.get() as Buffer
    return createHmac('sha256', secret)
      .update(`${customer.customer} ${did}`)
      .digest()
      .subarray(0, 16)
  }

  function openDevice(customer: Customer, did: string): Device {
    lastDeviceNumber ??= lastDevice.get() as number
    // Most devices that are not remembered are new.
    const hash = hashOfDevice(customer, did)
    if (addDevice.run(customer.customer, hash, lastDeviceNumber + 1).changes > 0) {
      lastDeviceNumber++
      return { device: lastDeviceNumber, isVisitor: false }
    }
    const found = findDevice.get(customer.customer, hash) as { device: number; isVisitor: number }
    return { device: found.device, isVisitor: found.isVisitor === 1 }
  }

  /** Undefined if the limit of new names is reached that day. On the next day the name may get a number. */
  function openName(customer: Customer, text: string, receivedAt: number): number | undefined {
    const found = findName.get(customer.customer, text)
    if (found !== undefined) return found
    const day = Math.floor(receivedAt / DAY_MS)
    const isKept = text === OTHER || countName.get({ ...customer, day, dailyNames }) !== undefined
    return isKept ? Number(addName.run(customer.customer, text).lastInsertRowid) : undefined
  }

  function nameOf(customer: Customer, text: string, receivedAt: number): number {
    const name = remember(names, `${customer.customer} ${text}`, () =>
      openName(customer, text, receivedAt),
    )
    return name ?? nameOf(customer, OTHER, receivedAt)
  }

  return {
    customer: (id) =>
      remember(customers, id, () => findCustomer.get(id) ?? addCustomer.get(id)) as Customer,
    device(customer, did) {
      const key = did.length <= MAX_DID_LENGTH ? did : `#${hashOf([did]).toString('hex')}`
      return remember(devices, `${customer.customer} ${key}`, () =>
        openDevice(customer, did),
      ) as Device
    },
    name: (customer, event, receivedAt) =>
      nameOf(customer, event.length <= MAX_NAME_LENGTH ? event : OTHER, receivedAt),
    utm(customer, utm) {
      const hash = hashOfUtm(customer.id, utm)
      return findUtm.get(hash) ?? Number(addUtm.run(hash).lastInsertRowid)
    },
    findDevice: (customer, did) =>
      findDevice.get(customer.customer, hashOfDevice(customer, did))?.device,
    dropDevice: (customer, did) =>
      void eraseDevice.run(customer.customer, hashOfDevice(customer, did)),
    findUtm: (customerId, utm) => findUtm.get(hashOfUtm(customerId, utm)),
    move(customer, seq) {
      moveCustomer.run(seq, customer.customer)
      customers.delete(customer.id)
    },
    forget() {
      lastDeviceNumber = undefined
      secret = undefined
      for (const remembered of [customers, devices, names]) remembered.clear()
    },
  }
}

/** The value of a key, found by `find` if it is not remembered. Undefined is not remembered. */
function remember<Value extends object | number>(
  values: Map<string, Value>,
  key: string,
  find: () => Value | undefined,
): Value | undefined {
  const known = values.get(key)
  if (known !== undefined) return known
  const value = find()
  if (value === undefined) return undefined
  // Simpler than dropping the oldest. Values in use soon return.
  if (values.size >= MAX_REMEMBERED) values.clear()
  values.set(key, value)
  return value
}

export const hashOfUtm = (customerId: string, utm: Utm): Buffer =>
  hashOf([customerId, utm.utm_campaign, utm.utm_medium, utm.utm_source])

/**
 * A hash of 16 bytes for a list of texts of any length. As JSON, so that different lists do not join to the same text.
 */
const hashOf = (texts: readonly string[]): Buffer =>
  createHash('sha256').update(JSON.stringify(texts)).digest().subarray(0, 16)
