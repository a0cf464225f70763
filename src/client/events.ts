import { isWellFormed } from '../contract/characters.ts'
import { tagOf } from '../contract/fields.ts'
import type {
  CustomApiEvent,
  EventInput,
  Issue,
  ServedScript,
  StoredEvent,
  TrackingOperation,
} from '../contract/index.ts'
import { createEventId } from './eventId.ts'
import type { Operate } from './operate.ts'
import type { CallOptions, Settings } from './options.ts'
import { post } from './request.ts'

/** A payload without `event` gets the event name of the client's options, or else the usual one. */
export type Named<O extends TrackingOperation> = Omit<EventInput<O>, 'event'> & {
  readonly event?: string | null | undefined
}

/**
 * The event operations. Each rejects with a ValidationException before any request, or with an
 * ApiException; each resolves with the decoded JSON of the answer, and with `[]` if that is empty.
 *
 * All but sendCustomApi need the client's trackingKey. Each call has an id, and the gateway stores an id once, so
 * these calls are retried if a request fails. `http_user_agent` and `remote_addr` are those of the visitor, not of
 * the server.
 */
export type Events = {
  /**
   * A custom event without a visitor. Not retried if the request may have been carried out.
   *
   * @example
   * await client.events.sendCustomApi({ email: 'ana@shop.example', event: 'quiz_done' })
   */
  sendCustomApi(event: CustomApiEvent, options?: CallOptions): Promise<StoredEvent>
  /**
   * A custom event of a visitor. `event` is required, since there is no usual name.
   *
   * @example
   * await client.events.sendCustom({ ...visitor, email: 'ana@shop.example', event: 'quiz_done' })
   */
  sendCustom(event: EventInput<'sendCustom'>, options?: CallOptions): Promise<StoredEvent>
  /**
   * A view of the homepage, or of any page without an event of its own.
   *
   * @example
   * const visitor = {
   *   did: '7c9f2f4e-1d0b-4a53-9f6e-2f6d3b0c8a11',
   *   url: 'https://shop.example/',
   *   http_user_agent: request.headers['user-agent'] ?? 'unknown',
   *   remote_addr: '203.0.113.10',
   * }
   * await client.events.viewHomepage(visitor)
   */
  viewHomepage(event: Named<'viewHomepage'>, options?: CallOptions): Promise<StoredEvent>
  /**
   * A visitor's e-mail address. `firstname`, `lastname` and `phone` are required and may be empty: give `''`
   * for an unknown one.
   *
   * @example
   * await client.events.setEmail({
   *   ...visitor, email_address: 'ana@shop.example', firstname: 'Ana', lastname: '', phone: '',
   * })
   */
  setEmail(event: Named<'setEmail'>, options?: CallOptions): Promise<StoredEvent>
  /**
   * A view of a product. Here `product_id` is text.
   *
   * @example
   * await client.events.viewProduct({ ...visitor, product_id: '12' })
   */
  viewProduct(event: Named<'viewProduct'>, options?: CallOptions): Promise<StoredEvent>
  /**
   * A product line put into the cart. `product_id` is a whole number from 1, or its digits as text.
   *
   * @example
   * const line = { product_id: 12, quantity: 1, variation: { id: '12-1', sku: 'MUG-BLUE' } }
   * await client.events.addToCart({ ...visitor, ...line })
   */
  addToCart(event: Named<'addToCart'>, options?: CallOptions): Promise<StoredEvent>
  /**
   * A product line taken out of the cart.
   *
   * @example
   * await client.events.removeFromCart({ ...visitor, ...line })
   */
  removeFromCart(event: Named<'removeFromCart'>, options?: CallOptions): Promise<StoredEvent>
  /**
   * A product line put on the wishlist.
   *
   * @example
   * await client.events.addToWishlist({ ...visitor, ...line })
   */
  addToWishlist(event: Named<'addToWishlist'>, options?: CallOptions): Promise<StoredEvent>
  /**
   * A product line taken from the wishlist.
   *
   * @example
   * await client.events.removeFromWishlist({ ...visitor, ...line })
   */
  removeFromWishlist(
    event: Named<'removeFromWishlist'>,
    options?: CallOptions,
  ): Promise<StoredEvent>
  /**
   * The start of a checkout.
   *
   * @example
   * await client.events.initiateCheckout(visitor)
   */
  initiateCheckout(event: Named<'initiateCheckout'>, options?: CallOptions): Promise<StoredEvent>
  /**
   * A search in the shop.
   *
   * @example
   * await client.events.search({ ...visitor, search_term: 'blue mug' })
   */
  search(event: Named<'search'>, options?: CallOptions): Promise<StoredEvent>
  /**
   * The script of a tracking key, with its integrity hash and settings. The restKey is not sent.
   *
   * @param trackingKey 6 to 20 characters. Default: the client's.
   * @example
   * const { script, integrity } = await client.events.serveJavascript()
   */
  serveJavascript(trackingKey?: string | null, options?: CallOptions): Promise<ServedScript>
}

const NO_TRACKING_KEY: Issue = {
  path: 'trackingKey',
  message: 'Expected createClient to be given a tracking key, received none',
}
const NOT_WELL_FORMED: Issue = {
  path: 'trackingKey',
  message: 'Expected well-formed text, received half a surrogate pair',
}

type Address = Pick<Settings, 'apiUrl' | 'trackingUrl' | 'customerId' | 'restKey' | 'trackingKey'>

/**
 * The address that takes a tracking event.
 *
 * @param id A UUID.
 * @param at When it happened, ms since 1970.
 */
export const eventUrlOf = (
  { trackingUrl, trackingKey = '', restKey }: Address,
  id: string,
  at: number,
): string =>
  `${trackingUrl}/r?k=${encodeURIComponent(trackingKey)}&api_key=${encodeURIComponent(restKey)}&id=${id}&at=${at}`

/** The address that takes an event of sendCustomApi. */
export const customEventUrlOf = ({ apiUrl, restKey, customerId }: Address): string =>
  `${apiUrl}/custom_events?k=${encodeURIComponent(restKey)}&u=${encodeURIComponent(customerId)}`

export function createEvents(operate: Operate, settings: Settings): Events {
  const { trackingUrl, trackingKey, events, now } = settings
  const nextId = createEventId()

  const issues = trackingKey === undefined ? [NO_TRACKING_KEY] : []

  const track =
    <O extends TrackingOperation>(operation: O) =>
    (event: unknown, options?: CallOptions): Promise<StoredEvent> =>
      operate(
        operation,
        withName(event, events[operation]),
        options,
        (payload) => {
          const at = Math.floor(now())
          return post(eventUrlOf(settings, nextId(at), at), payload)
        },
        issues,
      )

  return {
    sendCustomApi: (event, options) =>
      operate('sendCustomApi', event, options, (payload) =>
        post(customEventUrlOf(settings), payload),
      ),
    sendCustom: track('sendCustom'),
    viewHomepage: track('viewHomepage'),
    setEmail: track('setEmail'),
    viewProduct: track('viewProduct'),
    addToCart: track('addToCart'),
    removeFromCart: track('removeFromCart'),
    addToWishlist: track('addToWishlist'),
    removeFromWishlist: track('removeFromWishlist'),
    initiateCheckout: track('initiateCheckout'),
    search: track('search'),
    serveJavascript: (given, options) => {
      const key = given ?? trackingKey
      const isBroken = typeof key === 'string' && !isWellFormed(key)
      return operate(
        'serveJavascript',
        { trackingKey: key },
        options,
        (payload) => {
          const segment = encodeURIComponent(payload.trackingKey)
          return { method: 'GET', url: `${trackingUrl}/j/${segment}?k=${segment}` }
        },
        isBroken ? [NOT_WELL_FORMED] : [],
      )
    },
  }
}

/** The payload, with an event name if it has none. A payload that can not be read is left to the contract. */
function withName(payload: unknown, event: string): unknown {
  try {
    if (!event || tagOf(payload) !== 'Object') return payload
    const fields = { ...(payload as { readonly event?: unknown }) }
    return (fields.event ?? undefined) === undefined ? { ...fields, event } : payload
  } catch {
    return payload
  }
}
