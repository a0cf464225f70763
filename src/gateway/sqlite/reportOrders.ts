import type { Database } from 'better-sqlite3'
import { addressOf } from '../people/addressOf.ts'
import type { Detail } from './reportLog.ts'
import type { Customer, Device, Numbers } from './reportNumbers.ts'
import { createOrdersForgetting, type OrdersPlace } from './reportOrdersForgetting.ts'
import { readEmail, readOrder, readStatus } from './reportRecords.ts'
import { LASTS_MS } from './reportSums.ts'
import type { MarkPart } from './reportTables.ts'

/** How long after an order its address may be given, ms. After exactly one hour it still counts. */
const GIVEN_AFTER_MS = 3_600_000
/** The most devices of an address, addresses of a device, and orders of an address. Only programs have more. */
export const MAX_ADDRESS_DEVICES = 1_000
export const MAX_DEVICE_ADDRESSES = 100
export const MAX_ADDRESS_ORDERS = 1_000
/** The most orders of a campaign and a block of devices that are added up. They take about 0.1 s. */
export const MAX_BLOCK_ORDERS = 100_000
/** A visit that may be credited with an order. */
export type Candidate = {
  readonly at: number
  readonly id: Buffer
  readonly device: number
  readonly utm: number
}
type Credit = Candidate & { readonly bot: number }

/** An order that is credited to a device of a campaign. */
export type CreditedOrder = {
  readonly device: number
  readonly at: number
  readonly total: number
  readonly currency: string
  readonly status: number | null
}

/** The orders of the shops' servers. Call the functions that write in a transaction that writes. */
export type ReportOrders = {
  /**
   * Adds an event that orders depend on: a save, a status, or one that gives an address. Others change nothing. The
   * events of a customer must come in the order of the log.
   *
   * @param since Where the closed figures end. Orders before it do not change.
   */
  add(customer: Customer, event: Detail, since: number, change: MarkPart): void
  /** Call it for each visit after it was written. */
  visited(customer: Customer, device: Device, visit: Candidate, change: MarkPart): void
  /** The orders that are credited to these devices, from `since` to before `until`, by device. */
  credited(
    utm: number,
    first: number,
    last: number,
    since: number,
    until: number,
  ): Iterable<CreditedOrder>
  /** Deletes the orders whose newest save is one of these events. */
  forgetSaves(seqs: readonly number[], change: MarkPart): void
  /** Deletes the links of devices with their addresses. Call it before `credit`. */
  forgetLinks(customer: Customer, devices: readonly Device[]): void
  /** Finds new visits for the orders of devices whose visits were deleted. */
  credit(devices: readonly number[], change: MarkPart): void
  /**
   * Removes what is not needed any more when the figures are closed: of closed orders everything but their number, and
   * links of devices that have no visits.
   *
   * @param from Result of the last step. Default: the beginning.
   * @returns Where the next step continues. Undefined at the end.
   */
  forgetBefore(customer: number, since: number, from?: OrdersPlace): OrdersPlace | undefined
}

type Order = {
  readonly n: number
  readonly customer: number
  readonly at: number | null
  readonly address: Buffer | null
  readonly visitAt: number | null
  readonly visitId: Buffer | null
  readonly utm: number | null
  readonly device: number | null
  readonly bot: number | null
}
type Link = { readonly n: number; readonly first: number }

const COLUMNS = `orders.n, orders.customer, orders.at, orders.address, orders.visit_at AS visitAt,
  orders.visit_id AS visitId, orders.utm, orders.device, orders.bot`

/**
 * The orders in the seven days after a visit, of the addresses that its device gave. CROSS JOIN keeps the order of the
 * tables: SQLite would read all orders of the customer for each visit.
 */
export const AFTER_VISIT = `
  SELECT ${COLUMNS} FROM links CROSS JOIN orders ON orders.customer = links.customer
    AND orders.address = links.address AND orders.at BETWEEN @from AND @to
  WHERE links.customer = @customer AND links.device = @device
    AND links.first <= orders.at + ${GIVEN_AFTER_MS}
`

/**
 * Credits each order to a visit (docs/decisions.md, "Attribution"): the last one in the seven days before the order, of
 * the devices that gave its address.
 *
 * Only what arrives is compared: a visit with the orders after it, and a device that gives an address with the orders of
 * this address. It wins if it is later than what an order is credited to. So the order in which they arrive does not
 * matter, and nothing is searched for again, unless the address or the time of an order has changed.
 */
export function createReportOrders(database: Database, numbers: Numbers): ReportOrders {
  const findOrder = database.prepare<[number, Buffer], Order>(
    `SELECT ${COLUMNS} FROM orders WHERE customer = ? AND number = ?`,
  )
  const addOrder = database.prepare<[number, Buffer, number]>(
    'INSERT INTO orders (customer, number, arrived) VALUES (?, ?, ?)',
  )
  const saveOrder = database.prepare<
    [number, number, number, Buffer | null, number, string, number]
  >(
    `UPDATE orders SET at = ?, arrived = max(arrived, ?), seq = ?, address = ?, total = ?, currency = ?
     WHERE n = ?`,
  )
  const saveStatus = database.prepare<[number, number, number]>(
    'UPDATE orders SET status = ?, arrived = max(arrived, ?) WHERE n = ?',
  )
  const closeOrder = database.prepare<[{ at: number; arrived: number; n: number }]>(
    `UPDATE orders SET at = @at, arrived = max(arrived, @arrived), seq = NULL, address = NULL, total = 0,
       currency = '', status = NULL, visit_at = NULL, visit_id = NULL, utm = NULL, device = NULL, bot = NULL
     WHERE n = @n`,
  )
  const setCredit = database.prepare<
    [number | null, Buffer | null, number | null, number | null, number | null, number]
  >('UPDATE orders SET visit_at = ?, visit_id = ?, utm = ?, device = ?, bot = ? WHERE n = ?')
  const hasTooMany = database
    .prepare<[number, Buffer, number], number>(
      'SELECT 1 FROM orders WHERE customer = ? AND address = ? LIMIT 1 OFFSET ?',
    )
    .pluck()
  const ofAddress = database.prepare<[number, Buffer, number, number], Order>(
    `SELECT ${COLUMNS} FROM orders WHERE customer = ? AND address = ? AND at >= ? AND at < ?`,
  )
  const afterVisit = database.prepare<
    [{ customer: number; device: Buffer; from: number; to: number }],
    Order
  >(AFTER_VISIT)
  const hasOrders = database
    .prepare<[number], number>('SELECT 1 FROM orders WHERE customer = ? LIMIT 1')
    .pluck()
  const ofDevice = database.prepare<[number], Order>(
    `SELECT ${COLUMNS} FROM orders WHERE device = ?`,
  )
  const ofSave = database.prepare<[number], Order>(`SELECT ${COLUMNS} FROM orders WHERE seq = ?`)
  const removeOrder = database.prepare<[number]>('DELETE FROM orders WHERE n = ?')
  const credited = database.prepare<[number, number, number, number, number], CreditedOrder>(
    `SELECT device, at, total, currency, status FROM orders
     WHERE device BETWEEN ? AND ? AND utm = ? AND at >= ? AND at < ? ORDER BY device, at, n LIMIT ${MAX_BLOCK_ORDERS}`,
  )

  const findLink = database.prepare<[number, Buffer, Buffer], Link>(
    'SELECT n, first FROM links WHERE customer = ? AND address = ? AND device = ?',
  )
  const hasTooManyDevices = database
    .prepare<[number, Buffer, number], number>(
      'SELECT 1 FROM links WHERE customer = ? AND address = ? LIMIT 1 OFFSET ?',
    )
    .pluck()
  const hasTooManyAddresses = database
    .prepare<[number, Buffer, number], number>(
      'SELECT 1 FROM links WHERE customer = ? AND device = ? LIMIT 1 OFFSET ?',
    )
    .pluck()
  const addLink = database.prepare<[number, Buffer, Buffer, number, number, number]>(
    'INSERT INTO links (customer, address, device, bot, first, last) VALUES (?, ?, ?, ?, ?, ?)',
  )
  const extendLink = database.prepare<[{ at: number; n: number }]>(
    'UPDATE links SET first = min(first, @at), last = max(last, @at) WHERE n = @n',
  )
  const removeLinks = database.prepare<[number, Buffer]>(
    'DELETE FROM links WHERE customer = ? AND device = ?',
  )

  /** The last visit of a device up to a time. */
  const lastVisit = database.prepare<[{ device: number; from: number; to: number }], Candidate>(
    `SELECT at, id, device, utm FROM visits WHERE device = @device AND at BETWEEN @from AND @to
     UNION ALL
     SELECT at, id, device, utm FROM last_visits WHERE device = @device AND at BETWEEN @from AND @to
     ORDER BY at DESC, id DESC LIMIT 1`,
  )
  const givenBy = database.prepare<
    [{ customer: number; address: Buffer; to: number }],
    { device: number; bot: number }
  >(
    `SELECT devices.device, bot FROM links
     CROSS JOIN devices ON devices.customer = links.customer AND devices.hash = links.device
     WHERE links.customer = @customer AND links.address = @address AND first <= @to`,
  )

  function set(order: Order, credit: Credit | undefined, change: MarkPart): void {
    const { at = null, id = null, utm = null, device = null, bot = null } = credit ?? {}
    setCredit.run(at, id, utm, device, bot, order.n)
    if (order.utm !== null && order.device !== null) change(order.utm, order.device)
    if (credit) change(credit.utm, credit.device)
  }

  /** Credits an order to a visit, if it is a better one. */
  function offer(order: Order, credit: Credit, change: MarkPart): void {
    if (isBetter(credit, order)) set(order, credit, change)
  }

  /** Finds the visit of an order. */
  function search(order: Order, change: MarkPart): void {
    let best: Credit | undefined
    const { customer, at, address } = order
    if (at !== null && address !== null)
      for (const { device, bot } of givenBy.all({ customer, address, to: at + GIVEN_AFTER_MS })) {
        const visit = lastVisit.get({ device, from: at - LASTS_MS, to: at })
        if (!visit) continue
        const credit = { ...visit, bot }
        if (!best || isBetter(credit, asOrder(best))) best = credit
      }
    set(order, best, change)
  }

  function openOrder(customer: Customer, number: string, receivedAt: number): Order {
    const hash = numbers.hashOf(customer, 'order', number)
    const found = findOrder.get(customer.customer, hash)
    if (found) return found
    addOrder.run(customer.customer, hash, receivedAt)
    return findOrder.get(customer.customer, hash) as Order
  }

  function save(customer: Customer, event: Detail, since: number, change: MarkPart): void {
    const read = readOrder(event.payload)
    if (!read) return
    const { seq, receivedAt } = event
    const order = openOrder(customer, read.number, receivedAt)
    const at = Math.min(order.at ?? event.at, event.at)
    if (at < since) {
      if (order.utm !== null && order.device !== null) change(order.utm, order.device)
      closeOrder.run({ at, arrived: receivedAt, n: order.n })
      return
    }
    const address = read.email === undefined ? null : hashOfAddress(customer, read.email)
    const isSame = address !== null && order.address?.equals(address) === true
    const isKept =
      isSame ||
      (address !== null &&
        hasTooMany.get(customer.customer, address, MAX_ADDRESS_ORDERS - 1) === undefined)
    const kept = isKept ? address : null
    saveOrder.run(at, receivedAt, seq, kept, read.total, read.currency, order.n)
    if (isSame && at === order.at) {
      if (order.utm !== null && order.device !== null) change(order.utm, order.device)
    } else search({ ...order, at, address: kept }, change)
  }

  function setStatus(customer: Customer, event: Detail, since: number, change: MarkPart): void {
    const read = readStatus(event.payload)
    if (!read) return
    const order = openOrder(customer, read.number, event.receivedAt)
    if (order.at !== null && order.at < since) return
    saveStatus.run(numbers.status(customer, read.status), event.receivedAt, order.n)
    if (order.utm !== null && order.device !== null) change(order.utm, order.device)
  }

  function give(customer: Customer, event: Detail, change: MarkPart): void {
    const { did, at, bot } = event
    const email = readEmail(event.payload)
    if (did === null || email === undefined) return
    const address = hashOfAddress(customer, email)
    const device = { did, isBot: bot === 1 }
    const hash = numbers.hashOfDevice(customer, device)
    const link = findLink.get(customer.customer, address, hash)
    if (link) extendLink.run({ at, n: link.n })
    else {
      const isProgram =
        hasTooManyDevices.get(customer.customer, address, MAX_ADDRESS_DEVICES - 1) !== undefined ||
        hasTooManyAddresses.get(customer.customer, hash, MAX_DEVICE_ADDRESSES - 1) !== undefined
      if (isProgram) return
      addLink.run(customer.customer, address, hash, bot, at, at)
    }
    const before = link?.first ?? Number.MAX_SAFE_INTEGER
    if (at >= before) return
    const number = numbers.findDevice(customer, device)
    if (number === undefined) return
    const from = at - GIVEN_AFTER_MS
    for (const order of ofAddress.all(customer.customer, address, from, before - GIVEN_AFTER_MS)) {
      const to = order.at as number
      const visit = lastVisit.get({ device: number, from: to - LASTS_MS, to })
      if (visit) offer(order, { ...visit, bot }, change)
    }
  }

  const hashOfAddress = (customer: Customer, email: string): Buffer =>
    numbers.hashOf(customer, 'address', addressOf(email.trim()))

  return {
    add(customer, event, since, change) {
      const { operation } = event
      if (operation === 'saveOrder') save(customer, event, since, change)
      else if (operation === 'updateOrderStatus') setStatus(customer, event, since, change)
      else if (operation === 'setEmail' || operation === 'sendCustom') give(customer, event, change)
    },
    visited(customer, device, visit, change) {
      // Most shops send none. The hash of the device takes longer.
      if (hasOrders.get(customer.customer) === undefined) return
      const orders = afterVisit.all({
        customer: customer.customer,
        device: numbers.hashOfDevice(customer, device),
        from: visit.at,
        to: visit.at + LASTS_MS,
      })
      const credit = { ...visit, bot: device.isBot ? 1 : 0 }
      for (const order of orders) offer(order, credit, change)
    },
    credited: (utm, first, last, since, until) => credited.iterate(first, last, utm, since, until),
    forgetSaves(seqs, change) {
      for (const seq of seqs) {
        const order = ofSave.get(seq)
        if (!order) continue
        if (order.utm !== null && order.device !== null) change(order.utm, order.device)
        removeOrder.run(order.n)
      }
    },
    forgetLinks(customer, devices) {
      for (const device of devices)
        removeLinks.run(customer.customer, numbers.hashOfDevice(customer, device))
    },
    credit(devices, change) {
      for (const device of devices) for (const order of ofDevice.all(device)) search(order, change)
    },
    forgetBefore: createOrdersForgetting(database),
  }
}

const asOrder = ({ at, id, bot }: Credit) => ({ visitAt: at, visitId: id, bot })

/** Whether a visit wins against the one that an order is credited to. People win against bots. */
function isBetter(
  { at, id, bot }: Credit,
  order: Pick<Order, 'visitAt' | 'visitId' | 'bot'>,
): boolean {
  const { visitAt, visitId } = order
  if (visitAt === null || visitId === null) return true
  if (bot !== order.bot) return bot < (order.bot as number)
  return at > visitAt || (at === visitAt && id.compare(visitId) > 0)
}
