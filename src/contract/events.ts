import type { InferInput, InferOutput, object as valibotObject } from 'valibot'
import {
  anyText,
  count,
  email,
  lineProductId,
  optionalText,
  type pageUrl,
  shortText,
  text,
} from './fields.ts'

/**
 * The usual event name of each of the ten operations that carry a device id, by the names of the
 * specification. sendCustom has none: its caller says it.
 */
export const EVENT_NAMES = {
  viewHomepage: 'view_homepage',
  setEmail: 'set_email',
  viewProduct: 'view_product',
  addToCart: 'add_to_cart',
  removeFromCart: 'remove_from_cart',
  addToWishlist: 'add_to_wishlist',
  removeFromWishlist: 'remove_from_wishlist',
  initiateCheckout: 'initiate_checkout',
  search: 'search',
  sendCustom: '',
}

/** The ten operations that carry a device id. */
export type TrackingOperation = keyof typeof EVENT_NAMES

/** The same name by its rule, for the script: the list would cost it 40 bytes more. */
export const eventNameOf = (operation: TrackingOperation): string =>
  operation === 'sendCustom' ? '' : operation.replace(/[A-Z]/g, '_$&').toLowerCase()

/**
 * The ten tracking schemas. They differ between page and server in what the gateway completes from the
 * connection: the visitor's address, which a page can not know, and the user agent, where a browser
 * keeps it from its pages; and in that the gateway measures an address before it parses it.
 *
 * @param url `url` for the full form, `pageUrl` for the page form.
 * @param userAgent `agent` for the full form, `optionalAgent` for the page form.
 * @param address `text` for the full form, `optionalText` for the page form.
 * @param object valibot's `object`; the script leaves it away, since `check` needs only the entries.
 */
export const createEventSchemas = <C extends typeof text | typeof optionalText>(
  url: typeof pageUrl,
  userAgent: C,
  address: C,
  object = ((entries: object) => ({ entries })) as unknown as typeof valibotObject,
) => {
  const common = {
    did: shortText,
    event: shortText,
    url,
    http_user_agent: userAgent,
    remote_addr: address,
    source: optionalText,
  }
  const page = object(common)
  const line = object({
    ...common,
    product_id: lineProductId,
    quantity: count,
    variation: object({ id: text, sku: text }),
  })
  return {
    viewHomepage: page,
    setEmail: object({
      ...common,
      email_address: email,
      firstname: anyText,
      lastname: anyText,
      phone: anyText,
    }),
    viewProduct: object({ ...common, product_id: text }),
    addToCart: line,
    removeFromCart: line,
    addToWishlist: line,
    removeFromWishlist: line,
    initiateCheckout: page,
    search: object({ ...common, search_term: text }),
    sendCustom: object({ ...common, email }),
  }
}

type FullSchemas = ReturnType<typeof createEventSchemas<typeof text>>
type PageSchemas = ReturnType<typeof createEventSchemas<typeof optionalText>>

/** An event name without what a customer puts before each, where it stands there. */
export const withoutPrefix = (event: string, prefix: string): string =>
  event.startsWith(prefix) ? event.slice(prefix.length) : event

/** A payload as a caller may give it, product_id's digits still text. */
export type EventInput<O extends TrackingOperation> = InferInput<FullSchemas[O]>
/** A payload as it is stored: clean, converted, complete. */
export type EventPayload<O extends TrackingOperation> = InferOutput<FullSchemas[O]>
/** A payload as it leaves the page: `remote_addr` may still be missing. */
export type PagePayload<O extends TrackingOperation> = InferOutput<PageSchemas[O]>
