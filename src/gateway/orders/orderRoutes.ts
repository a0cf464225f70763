import { type Issue, MAX_EVENT_BYTES, toStoredOrder, validate } from '../../contract/index.ts'
import type { RecordOperation } from '../../contract/recordOperations.ts'
import type { Admission } from '../collect/admission.ts'
import { makeEventId } from '../collect/eventId.ts'
import { asObject } from '../collect/verdicts.ts'
import type { Customer } from '../customers/customers.ts'
import { answer, invalid, JSON_HEADERS, type Refusal } from '../http/answers.ts'
import type { Metrics } from '../http/metrics.ts'
import { createSemaphore } from '../http/semaphore.ts'
import { addressOf } from '../people/addressOf.ts'
import type { Guard, RestCall } from '../rest/guard.ts'
import { answerAddresses } from './addressList.ts'
import { digestOf, type Orders } from './orders.ts'
import { readTimeRange } from './timeRange.ts'

export type OrderRouteDependencies = {
  readonly guarded: Guard
  readonly orders: Orders
  readonly admission: Pick<Admission, 'append'>
  readonly metrics: Pick<Metrics, 'event'>
  /** The clock, ms since 1970. */
  readonly now: () => number
  /** Called with the error that has broken off a list. */
  readonly onError: (error: unknown, route: string) => void
}

/**
 * The largest body of an order, bytes. A form has two to three times the size of the record that is stored of it, which
 * is at most MAX_EVENT_BYTES, as of every event.
 */
export const MAX_ORDER_BYTES = 2 ** 18
/** The most values in it: 500 products of four values, each in an object. */
export const MAX_ORDER_VALUES = 4_000
/** Lists of unsubscribed addresses that are sent at once. The next ones wait. */
export const ADDRESS_LISTS = {
  permits: 8,
  permitsOfOne: 2,
  maxWaiting: 100,
  waitMs: 2_000,
  message: 'Too many lists of addresses are being sent',
}

/**
 * Calls about the same order, or the same subscriber, are carried out one after the other. All others do not wait. A
 * sender that has given up a call may send the next one while the first one is still being stored. The next one would be
 * compared with the state before the first one and could seem to change nothing. Then the first one would win.
 */
export const SAME_STATE = {
  permits: Number.POSITIVE_INFINITY,
  permitsOfOne: 1,
  maxWaiting: 1_000,
  waitMs: 5_000,
  message: 'Too many calls about the same order or subscriber',
}

/** The parts of a request that a stored call reads. */
type StoredCall = Pick<RestCall, 'customer' | 'read'>

/** For each operation: its event name in the log, the state that it changes, and the subject of messages about it. */
const WORDS: Readonly<
  Record<RecordOperation, { readonly event: string; readonly state: string; readonly what: string }>
> = {
  saveOrder: { event: 'save_order', state: 'order', what: 'The order' },
  updateOrderStatus: {
    event: 'update_order_status',
    state: 'status',
    what: 'The status of an order',
  },
  addSubscriber: { event: 'add_subscriber', state: 'subscriber', what: 'The subscriber' },
  removeSubscriber: { event: 'remove_subscriber', state: 'subscriber', what: 'The unsubscription' },
}

const UNSUBSCRIBED = '/api/v1/unsubscribed_emails'

/** An empty list. Reviews are not kept here. */
const NO_REVIEWS = '<?xml version="1.0" encoding="UTF-8"?>\n<reviews></reviews>\n'

/**
 * The calls of a shop's server about orders and subscribers (docs/decisions.md, "Orders and subscribers"). Each is
 * stored as an event without a device. If its content is already the current state, it is answered 200 as well and not
 * stored: plugins send the same order again and again.
 *
 * The handlers reject with Unavailable and with TooMany.
 */
export function createOrderRoutes(dependencies: OrderRouteDependencies) {
  const { admission, guarded, metrics, orders, now, onError } = dependencies
  const lists = createSemaphore(ADDRESS_LISTS)
  const turns = createSemaphore(SAME_STATE)

  /** POST /api/v1/save_order */
  async function saveOrder(call: StoredCall): Promise<Response | Refusal> {
    const body = await call.read()
    if (!body.ok) return body
    const { customer } = call
    const given = withProducts(body.json)
    const checked = validate('saveOrder', given)
    const names = Object.keys(Object(asObject(given)?.products))
    const order = checked.ok ? toStoredOrder(checked.payload, customer.currency, names) : checked
    if (!order.ok) return refuse('saveOrder', given, order.error.issues)
    const payload = JSON.stringify(order.payload)
    return store(customer, 'saveOrder', order.payload.number, payload, async () => {
      const known = await orders.find(customer.customerId, order.payload.number)
      return isEqual(known?.digest, payload)
    })
  }

  /** GET and POST /api/v1/update_order_status */
  async function updateOrderStatus(
    call: StoredCall & Pick<RestCall, 'query' | 'request'>,
  ): Promise<Response | Refusal> {
    const { customer, query, request } = call
    // A GET may have a body too: PHP's cURL sends one if its method is set and its fields are given.
    const body = await call.read()
    if (!body.ok) return body
    const fields = {
      order_number: query('order_number'),
      order_status: query('order_status'),
      ...asObject(body.json),
    }
    const checked = validate('updateOrderStatus', fields)
    if (!checked.ok) return refuse('updateOrderStatus', fields, checked.error.issues)
    if (request.method === 'HEAD') return answer(200, { stored: false })
    const { order_number, order_status } = checked.payload
    const payload = JSON.stringify(checked.payload)
    return store(customer, 'updateOrderStatus', order_number, payload, async () => {
      const known = await orders.find(customer.customerId, order_number)
      return known?.status === order_status
    })
  }

  const changeSubscriber =
    (operation: 'addSubscriber' | 'removeSubscriber') =>
    async (call: StoredCall): Promise<Response | Refusal> => {
      const body = await call.read()
      if (!body.ok) return body
      const { customer } = call
      const checked = validate(operation, body.json)
      if (!checked.ok) return refuse(operation, body.json, checked.error.issues)
      const payload = JSON.stringify(checked.payload)
      const { email } = checked.payload
      return store(customer, operation, addressOf(email), payload, async () => {
        const known = await orders.findSubscriber(customer.customerId, email)
        return known?.operation === operation && isEqual(known.digest, payload)
      })
    }

  /** GET /api/v1/unsubscribed_emails: a list of addresses. */
  async function unsubscribed(call: RestCall): Promise<Response | Refusal> {
    const { breakOff, customer, query, request } = call
    const given = { date_from: query('date_from'), date_to: query('date_to') }
    const read = readTimeRange(given, customer.timeZone, now())
    if (!read.ok) return invalid('The range of time is invalid', read.issues)
    // A HEAD reads no body, so the list would never end and would keep its permit.
    if (request.method === 'HEAD') return new Response(null, { headers: JSON_HEADERS })
    const { customerId } = customer
    const release = await lists.acquire(customerId)
    return answerAddresses(orders, customerId, read.range, {
      onEnd: release,
      breakOff(error) {
        onError(error, UNSUBSCRIBED)
        breakOff()
      },
    })
  }

  /** GET /api/v1/product_reviews */
  const productReviews = async (): Promise<Response> =>
    new Response(NO_REVIEWS, {
      headers: { ...JSON_HEADERS, 'content-type': 'application/xml; charset=utf-8' },
    })

  /** GET /api/v1/health: the keys are right. */
  const health = async (): Promise<Response> => answer(200, { status: 'ok' })

  /**
   * Stores a call as an event, unless its content is the current state. Rejects with TooMany: see SAME_STATE.
   *
   * @param key The number of the order, or the address of the subscriber.
   * @param payload JSON.
   */
  async function store(
    customer: Customer,
    operation: RecordOperation,
    key: string,
    payload: string,
    isCurrent: () => Promise<boolean>,
  ): Promise<Response | Refusal> {
    const { event, state, what } = WORDS[operation]
    if (Buffer.byteLength(payload) > MAX_EVENT_BYTES)
      return {
        ok: false,
        status: 413,
        message: `${what} is too large: expected at most ${MAX_EVENT_BYTES} bytes as JSON`,
      }
    const release = await turns.acquire(JSON.stringify([customer.customerId, state, key]))
    try {
      if (await isCurrent()) {
        metrics.event('duplicate', false)
        return answer(200, { stored: false })
      }
      const receivedAt = now()
      const id = makeEventId(receivedAt)
      const stored = await admission.append(customer, [
        {
          ...{ customer: customer.customerId, id, at: receivedAt, receivedAt, operation, event },
          ...{ did: null, bot: false, payload, version: null },
        },
      ])
      if (!stored.ok) return stored
      for (const outcome of stored.outcomes) metrics.event(outcome, false)
      return answer(200, { stored: true, id })
    } finally {
      release()
    }
  }

  const addSubscriber = changeSubscriber('addSubscriber')
  const removeSubscriber = changeSubscriber('removeSubscriber')
  const status = { maxBytes: MAX_EVENT_BYTES, whenEmpty: {} }
  const order = { maxBytes: MAX_ORDER_BYTES, maxValues: MAX_ORDER_VALUES }
  const subscriber = { maxBytes: MAX_EVENT_BYTES }
  return {
    saveOrder: guarded('/api/v1/save_order', order, saveOrder),
    updateOrderStatus: guarded('/api/v1/update_order_status', status, updateOrderStatus),
    addSubscriber: guarded('/api/v1/add_subscriber', subscriber, addSubscriber),
    removeSubscriber: guarded('/api/v1/remove_subscriber', subscriber, removeSubscriber),
    unsubscribed: guarded(UNSUBSCRIBED, undefined, unsubscribed),
    productReviews: guarded('/api/v1/product_reviews', undefined, productReviews),
    health: guarded('/api/v1/health', undefined, health),
    /** The calls without the check of keys, for the server of the demo shop. */
    calls: { saveOrder, updateOrderStatus, addSubscriber, removeSubscriber },
  }
}

/**
 * An order without products has an empty list of them: PHP writes nothing for an empty list in a form, and null, false
 * (`0` in a form) or an empty text for a variable that is not set. Its total still counts.
 */
function withProducts(sent: unknown): unknown {
  const order = asObject(sent)
  if (!order) return sent
  const products = Object.hasOwn(order, 'products') ? order.products : undefined
  const text = products ?? ''
  const isMissing = text === false || (typeof text === 'string' && /^0?$/.test(text.trim()))
  return isMissing ? { ...order, products: [] } : order
}

const refuse = (operation: RecordOperation, sent: unknown, issues: readonly Issue[]): Refusal => ({
  ...invalid(`${WORDS[operation].what} is invalid`, issues),
  refused: { operation, payload: asObject(sent) ?? {} },
})

const isEqual = (digest: Uint8Array | undefined, payload: string): boolean =>
  digest !== undefined && Buffer.compare(digest, digestOf(payload)) === 0
