import type { InferInput, InferOutput } from 'valibot'
import { anyText, count, email, lineProductId, optionalText, text, url } from './fields.ts'
import { object } from './object.ts'

/** The usual event name of each tracking operation. sendCustom has none: its caller says it. */
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
} as const

/** The ten operations that carry a device id, by the names of the specification. */
export type TrackingOperation = keyof typeof EVENT_NAMES

/**
 * The ten tracking schemas. They differ between page and server in one thing: a page can not know
 * `remote_addr`, so there it is optional and the gateway completes it.
 *
 * @param remote_addr `text` for the full form, `optionalText` for the page form.
 */
export const createEventSchemas = <R extends typeof text | typeof optionalText>(remote_addr: R) => {
  const common = {
    did: text,
    event: text,
    url,
    http_user_agent: text,
    remote_addr,
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
    initiateCheckout: page,
    viewProduct: object({ ...common, product_id: text }),
    search: object({ ...common, search_term: text }),
    setEmail: object({
      ...common,
      email_address: email,
      firstname: anyText,
      lastname: anyText,
      phone: anyText,
    }),
    sendCustom: object({ ...common, email }),
    addToCart: line,
    removeFromCart: line,
    addToWishlist: line,
    removeFromWishlist: line,
  }
}

type FullSchemas = ReturnType<typeof createEventSchemas<typeof text>>
type PageSchemas = ReturnType<typeof createEventSchemas<typeof optionalText>>

/** A payload as a caller may give it, product_id's digits still text. */
export type EventInput<O extends TrackingOperation> = InferInput<FullSchemas[O]>
/** A payload as it is stored: clean, converted, complete. */
export type EventPayload<O extends TrackingOperation> = InferOutput<FullSchemas[O]>
/** A payload as it leaves the page: `remote_addr` may still be missing. */
export type PagePayload<O extends TrackingOperation> = InferOutput<PageSchemas[O]>
