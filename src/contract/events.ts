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

/** The usual event name of each of the ten tracking operations. sendCustom has none: its caller chooses the name. */
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

/** An operation whose payload has a device id. */
export type TrackingOperation = keyof typeof EVENT_NAMES

/** The usual event name, derived from the operation's name. In the script this is 40 bytes smaller than the list. */
export const eventNameOf = (operation: TrackingOperation): string =>
  operation === 'sendCustom' ? '' : operation.replace(/[A-Z]/g, '_$&').toLowerCase()

/**
 * The ten tracking schemas, in two forms. The page form may lack what the gateway fills in from the connection: the
 * visitor's IP address, which a page does not know, and the user agent, which some browsers hide from pages.
 *
 * @param url The rule of `url`: `url` in the full form, `pageUrl` in the page form.
 * @param userAgent The rule of `http_user_agent`: `agent` in the full form, `optionalAgent` in the page form.
 * @param address The rule of `remote_addr`: `text` in the full form, `optionalText` in the page form.
 * @param object valibot's `object`. The script omits it, because `check` needs only the entries.
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

/** An event name without the customer's prefix, if it begins with it. */
export const withoutPrefix = (event: string, prefix: string): string =>
  event.startsWith(prefix) ? event.slice(prefix.length) : event

/** A payload as a caller may give it: the product_id of a line may be a string of digits. */
export type EventInput<O extends TrackingOperation> = InferInput<FullSchemas[O]>
/** A payload as it is stored: complete and converted. */
export type EventPayload<O extends TrackingOperation> = InferOutput<FullSchemas[O]>
