import { createHash, createHmac } from 'node:crypto'
import type { Database } from 'better-sqlite3'
import type { Utm } from '../campaigns/utm.ts'
import { shortHash } from './reportSeen.ts'
import { BLOCK_DEVICES } from './reportTables.ts'

/** Events whose own name is not stored are counted under this name. */
export const OTHER = '(other)'

/**
 * The most new event names of a customer that are stored for a day of arrival (UTC). Events with more names are counted
 * as `(other)`. A report shows a hundred names, so only a client that invents names exceeds this.
 */
export const DAILY_NAMES = 1_000

/** The most devices, names and utm values in memory, of each kind. A device takes about 150 bytes. */
const MAX_REMEMBERED = 5_000
/** The most statuses of orders of a customer. Shops have some ten, in a few languages. Others are OTHER. */
const MAX_STATUSES = 1_000
/** The longest event name or status that is stored, UTF-16 units. */
const MAX_NAME_LENGTH = 200
/** Longer device ids are remembered as their hash, UTF-16 units. */
const MAX_DID_LENGTH = 200
/** Longer utm values are not remembered, UTF-16 units as JSON. */
const MAX_UTM_LENGTH = 500
const DAY_MS = 86_400_000

/** A customer whose events are counted. */
export type Customer = {
  readonly customer: number
  readonly id: string
  /** Position in the log up to which its events were read, if it is behind, or further than all customers. */
  seq: number
  /** Whether it is not read together with the others yet. */
  isBehind: boolean
  /** The number of its next device. A multiple of BLOCK_DEVICES if it needs a new block. */
  nextDevice: number
}

/**
 * A device. A bot is a device of its own, also under the device id of a person, and so are the utm values of its visits.
 * So the figures of people and of bots are separate.
 */
export type Device = { readonly did: string; readonly isBot: boolean }

/** Short numbers that stand for texts. A text without a number gets one. */
export type Numbers = {
  /** The customers whose events are counted. */
  customers(): ReadonlyMap<string, Customer>
  /** @param isBehind See Customer, of a new one. */
  addCustomer(id: string, isBehind: boolean): Customer
  /** Writes the position and the numbers of a customer. */
  saveCustomer(customer: Customer): void
  /** @param seen The short hash of the device. */
  device(customer: Customer, device: Device, seen: number): number
  /** Undefined if the device has no number. */
  findDevice(customer: Customer, device: Device): number | undefined
  /** A keyed hash of a device, of 16 bytes. */
  hashOfDevice(customer: Customer, device: Device): Buffer
  /** The same of another text, such as an address. @param what Says what it is. */
  hashOf(customer: Customer, what: string, text: string): Buffer
  /** The number of an order's status. */
  status(customer: Customer, text: string): number
  /** @param receivedAt When the event arrived, ms since 1970. */
  name(customer: Customer, event: string, receivedAt: number): number
  utm(customer: Customer, utm: Utm, isBot: boolean): number
  /** Undefined if no event had these values. */
  findUtm(customerId: string, utm: Utm, isBot: boolean): number | undefined
  /** 32 bits of a hash of a device. */
  seen(customerId: string, did: string): number
  /** Empties the memory. Call it if the tables may have changed. */
  forget(): void
}

export function createNumbers(database: Database, dailyNames: number): Numbers {
  const allCustomers = database.prepare<[], Omit<Customer, 'isBehind'> & { behind: number }>(
    'SELECT customer, id, seq, behind, next_device AS nextDevice FROM customers',
  )
  const addCustomer = database.prepare<[string, number]>(
    'INSERT INTO customers (id, behind) VALUES (?, ?)',
  )
  const saveCustomer = database.prepare<[number, number, number, number]>(
    'UPDATE customers SET seq = ?, behind = ?, next_device = ? WHERE customer = ?',
  )
  const countName = database
    .prepare<[{ customer: number; day: number; dailyNames: number }], number>(
      `UPDATE customers SET day = @day, names = iif(day = @day, names, 0) + 1
       WHERE customer = @customer AND (day <> @day OR names < @dailyNames) RETURNING names`,
    )
    .pluck()
  const findDevice = database
    .prepare<[number, Buffer], number>('SELECT device FROM devices WHERE customer = ? AND hash = ?')
    .pluck()
  const secretOf = database.prepare<[], Buffer>('SELECT secret FROM position').pluck()
  const addDevice = database.prepare<[number, number, Buffer, number]>(
    'INSERT INTO devices (device, customer, hash, seen) VALUES (?, ?, ?, ?)',
  )
  const addBlock = database
    .prepare<[number], number>('INSERT INTO blocks (customer) VALUES (?) RETURNING block')
    .pluck()
  const findName = database
    .prepare<[number, string], number>('SELECT name FROM names WHERE customer = ? AND text = ?')
    .pluck()
  const addName = database.prepare<[number, string]>(
    'INSERT INTO names (customer, text) VALUES (?, ?)',
  )
  const findStatus = database
    .prepare<[number, string], number>(
      'SELECT status FROM statuses WHERE customer = ? AND text = ?',
    )
    .pluck()
  const countStatuses = database
    .prepare<[number], number>('SELECT count(*) FROM statuses WHERE customer = ?')
    .pluck()
  const addStatus = database.prepare<[number, string]>(
    'INSERT INTO statuses (customer, text) VALUES (?, ?)',
  )
  const findUtm = database.prepare<[Buffer], number>('SELECT utm FROM utms WHERE hash = ?').pluck()
  const addUtm = database.prepare<[Buffer]>('INSERT INTO utms (hash) VALUES (?)')

  let customers: Map<string, Customer> | undefined
  /** A seed of the short hash for each customer. */
  const seeds = new Map<string, number>()
  const devices = new Map<string, number>()
  const names = new Map<string, number>()
  const utms = new Map<string, number>()
  const statuses = new Map<string, number>()
  let secret: Buffer | undefined

  function secretBytes(): Buffer {
    secret ??= secretOf.get() as Buffer
    return secret
  }

  const keyedHash = (text: string): Buffer =>
    createHmac('sha256', secretBytes()).update(text).digest().subarray(0, 16)

  const hashOfDevice = ({ customer }: Customer, { did, isBot }: Device): Buffer =>
    keyedHash(`${customer}${isBot ? 'b' : ''} ${did}`)

  function openCustomers(): Map<string, Customer> {
    customers ??= new Map(
      allCustomers
        .all()
        .map(({ behind, ...customer }) => [customer.id, { ...customer, isBehind: behind === 1 }]),
    )
    return customers
  }

  /** Calls `open` for the number of a device that is not remembered. */
  function deviceOf(
    customer: Customer,
    device: Device,
    open: (hash: Buffer) => number | undefined,
  ): number | undefined {
    const { did, isBot } = device
    const key = did.length <= MAX_DID_LENGTH ? did : `#${hashOf([did]).toString('hex')}`
    return remember(devices, `${customer.customer}${isBot ? 'b' : ''} ${key}`, () =>
      open(hashOfDevice(customer, device)),
    )
  }

  function openStatus({ customer }: Customer, text: string): number | undefined {
    const found = findStatus.get(customer, text)
    if (found !== undefined) return found
    const isKept = text === OTHER || (countStatuses.get(customer) as number) < MAX_STATUSES
    return isKept ? Number(addStatus.run(customer, text).lastInsertRowid) : undefined
  }

  const statusOf = (customer: Customer, text: string): number =>
    remember(statuses, `${customer.customer} ${text}`, () => openStatus(customer, text)) ??
    statusOf(customer, OTHER)

  function openDevice(customer: Customer, hash: Buffer, seen: number): number {
    const found = findDevice.get(customer.customer, hash)
    if (found !== undefined) return found
    if (customer.nextDevice % BLOCK_DEVICES === 0)
      customer.nextDevice = (addBlock.get(customer.customer) as number) * BLOCK_DEVICES
    const device = customer.nextDevice
    addDevice.run(device, customer.customer, hash, seen)
    customer.nextDevice++
    return device
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
    customers: openCustomers,
    addCustomer(id, isBehind) {
      const customer = Number(addCustomer.run(id, isBehind ? 1 : 0).lastInsertRowid)
      const added = { customer, id, seq: 0, isBehind, nextDevice: 0 }
      openCustomers().set(id, added)
      return added
    },
    saveCustomer: ({ customer, seq, isBehind, nextDevice }) =>
      void saveCustomer.run(seq, isBehind ? 1 : 0, nextDevice, customer),
    device: (customer, device, seen) =>
      deviceOf(customer, device, (hash) => openDevice(customer, hash, seen)) as number,
    findDevice: (customer, device) =>
      deviceOf(customer, device, (hash) => findDevice.get(customer.customer, hash)),
    hashOfDevice,
    hashOf: ({ customer }, what, text) => keyedHash(`${customer} ${what} ${text}`),
    status: (customer, text) => statusOf(customer, text.length <= MAX_NAME_LENGTH ? text : OTHER),
    name: (customer, event, receivedAt) =>
      nameOf(customer, event.length <= MAX_NAME_LENGTH ? event : OTHER, receivedAt),
    utm(customer, utm, isBot) {
      const open = () => {
        const hash = hashOfUtm(customer.id, utm, isBot)
        return findUtm.get(hash) ?? Number(addUtm.run(hash).lastInsertRowid)
      }
      const key = JSON.stringify([customer.customer, utm, isBot])
      return key.length <= MAX_UTM_LENGTH ? (remember(utms, key, open) as number) : open()
    },
    findUtm: (customerId, utm, isBot) => findUtm.get(hashOfUtm(customerId, utm, isBot)),
    seen: (customerId, did) =>
      shortHash(
        remember(seeds, customerId, () =>
          shortHash(secretBytes().readUInt32LE(), customerId),
        ) as number,
        did,
      ),
    forget() {
      customers = undefined
      secret = undefined
      for (const remembered of [seeds, devices, names, utms, statuses]) remembered.clear()
    },
  }
}

/** The value of a key, found by `find` if it is not remembered. Undefined is not remembered. */
function remember<Value>(
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

export const hashOfUtm = (customerId: string, utm: Utm, isBot: boolean): Buffer =>
  hashOf([
    ...[customerId, utm.utm_campaign, utm.utm_medium, utm.utm_source],
    ...(isBot ? ['bot'] : []),
  ])

/**
 * A hash of 16 bytes for a list of texts of any length. As JSON, so that different lists do not join to the same text.
 */
const hashOf = (texts: readonly string[]): Buffer =>
  createHash('sha256').update(JSON.stringify(texts)).digest().subarray(0, 16)
