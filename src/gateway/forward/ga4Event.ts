import { createHash } from 'node:crypto'
import { normalizeStatus } from '../customers/orderSettings.ts'
import { purchaseOf, refundOf, transactionOf } from './ga4Order.ts'
import { cut, type Ga4Destination, type Ga4Operation, isEventName } from './ga4Settings.ts'
import type { ForwardEvent } from './kind.ts'

/** An event of the Measurement Protocol, and the fields of its request. */
export type Ga4Hit = {
  /** Fields of the request beside its events. Only events with the same ones share a request. */
  readonly request: Readonly<Record<string, unknown>> & { readonly client_id: string }
  readonly event: Readonly<Record<string, unknown>>
}

/** What becomes of an event: sent, not meant for this destination, or never taken. */
export type Mapped =
  | { readonly hit: Ga4Hit }
  | { readonly hit?: never; readonly refused: string | undefined }

/** Google moves older events to this age, which would make them wrong. */
const MAX_AGE_MS = 72 * 3_600_000
const DAY_MS = 86_400_000
/** The longest page_location, characters. */
const MAX_LOCATION_CHARACTERS = 1_000

/** Names in Google's recommended events. The others are not sent by default. */
const EVENTS: Readonly<Record<Ga4Operation, string | boolean>> = {
  viewHomepage: 'page_view',
  setEmail: false,
  viewProduct: 'view_item',
  addToCart: 'add_to_cart',
  removeFromCart: 'remove_from_cart',
  addToWishlist: 'add_to_wishlist',
  removeFromWishlist: 'remove_from_wishlist',
  initiateCheckout: 'begin_checkout',
  search: 'search',
  sendCustom: false,
  saveOrder: 'purchase',
  updateOrderStatus: 'refund',
}

/**
 * @param now ms since 1970.
 * @param refunds Statuses that are refunds if the settings have none.
 */
export function toGa4(
  event: ForwardEvent,
  settings: Ga4Destination,
  now: number,
  refunds: readonly string[],
): Mapped {
  const { operation, at } = event
  const name = nameOf(event, settings)
  const client = clientOf(event)
  if (!name || client === undefined || !isMeant(event, settings.refundStatuses ?? refunds))
    return { refused: undefined }
  if (!isEventName(name)) return { refused: `Google takes no event with the name ${name}` }
  if (now - at > MAX_AGE_MS)
    return { refused: 'It is older than 72 hours, and Google takes no such events' }
  const { url, search_term } = event.payload
  const params = {
    ...settings.params,
    event_id: event.id,
    // One session a day: Google's reports need a session, and events do not tell when one began.
    session_id: Math.floor(at / DAY_MS) * (DAY_MS / 1000),
    engagement_time_msec: 1,
    ...(typeof url === 'string' && { page_location: url.slice(0, MAX_LOCATION_CHARACTERS) }),
    ...(typeof search_term === 'string' && { search_term: cut(search_term) }),
    ...paramsOf(event, settings),
  }
  return {
    hit: {
      request: requestOf(event, client, settings),
      // Google takes no time in the future, which a clock that runs ahead could give.
      event: { name, timestamp_micros: Math.min(at, now) * 1000, params },
    },
  }

  function nameOf({ event }: ForwardEvent, { events }: Ga4Destination): string | false {
    const mapped = operation as Ga4Operation
    const name = events?.[mapped] ?? EVENTS[mapped] ?? false
    return name === true ? event.replace(/\W/g, '_').slice(0, 40) : name
  }
}

/**
 * From what the client id is made, which Google counts as a user: the device, or the order that a record is about. Other
 * events without a device are not sent.
 */
function clientOf({ did, payload }: ForwardEvent): string | undefined {
  const order = transactionOf(payload)
  return did ?? (order === undefined ? undefined : `order ${order}`)
}

/** Of the statuses of an order, Google knows only a refund. */
function isMeant({ operation, payload }: ForwardEvent, refunds: readonly string[]): boolean {
  if (operation !== ('updateOrderStatus' satisfies Ga4Operation)) return true
  return refunds.map(normalizeStatus).includes(normalizeStatus(`${payload.order_status}`))
}

function paramsOf(event: ForwardEvent, settings: Ga4Destination) {
  switch (event.operation as Ga4Operation) {
    case 'saveOrder':
      return purchaseOf(event, settings)
    case 'updateOrderStatus':
      return refundOf(event)
    default:
      return itemsOf(event, settings)
  }
}

function itemsOf({ payload }: ForwardEvent, { itemId = 'product_id' }: Ga4Destination) {
  const { product_id, quantity, variation } = payload
  if (product_id === undefined) return {}
  const { id, sku } = Object(variation) as { readonly id?: string; readonly sku?: string }
  const ids = { product_id: String(product_id), variation_id: id, sku }
  return {
    items: [
      {
        // A product view has no variation.
        item_id: cut(ids[itemId] ?? ids.product_id),
        ...(id !== undefined && id !== ids.product_id && { item_variant: cut(id) }),
        ...(quantity !== undefined && { quantity }),
      },
    ],
  }
}

function requestOf({ payload }: ForwardEvent, client: string, settings: Ga4Destination) {
  const { http_user_agent, remote_addr } = payload
  const { ad_user_data = 'DENIED', ad_personalization = 'DENIED' } = settings.consent ?? {}
  return {
    client_id: clientIdOf(client),
    ...(http_user_agent !== undefined && { user_agent: http_user_agent }),
    ...(settings.sendAddress && remote_addr !== undefined && { ip_override: remote_addr }),
    ...(settings.userData && userDataOf(payload)),
    consent: { ad_user_data, ad_personalization },
  }
}

/**
 * Google's form of a device id, two positive numbers: the first eight bytes of the SHA-256 of its text, as two
 * big-endian integers of 32 bits. A 0 becomes 1. Documented, so that a shop can compute it too.
 */
export function clientIdOf(text: string): string {
  const hash = createHash('sha256').update(text).digest()
  return `${hash.readUInt32BE(0) || 1}.${hash.readUInt32BE(4) || 1}`
}

/**
 * The e-mail address and the phone number of an event as hashes, normalised as Google wants it
 * (https://developers.google.com/analytics/devguides/collection/ga4/uid-data).
 */
function userDataOf({ email_address, email, phone }: ForwardEvent['payload']) {
  const address = email_address ?? email
  const number = typeof phone === 'string' ? phone.replace(/[^\d+]/g, '') : ''
  const data = {
    ...(typeof address === 'string' && { sha256_email_address: [hash(normalize(address))] }),
    // Only international numbers are unambiguous.
    ...(/^\+\d{6,15}$/.test(number) && { sha256_phone_number: [hash(number)] }),
  }
  return Object.keys(data).length > 0 ? { user_data: data } : {}
}

/** In lower case. Gmail ignores dots before the @. */
const normalize = (address: string): string =>
  address
    .trim()
    .toLowerCase()
    .replace(/^.*(?=@g(?:oogle)?mail\.com$)/, (local) => local.replaceAll('.', ''))

const hash = (text: string): string => createHash('sha256').update(text).digest('hex')
