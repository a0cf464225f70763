import type { InferInput, InferOutput, object as valibotObject } from 'valibot'
import { anyText, count, email, lineProductId, optionalText, text, url } from './fields.ts'

/** The operations that have a usual event name: their own, in the other spelling. */
const NAMED = [
  'viewHomepage',
  'setEmail',
  'viewProduct',
  'addToCart',
  'removeFromCart',
  'addToWishlist',
  'removeFromWishlist',
  'initiateCheckout',
  'search',
] as const

/** The ten operations that carry a device id, by the names of the specification. */
export type TrackingOperation = (typeof NAMED)[number] | 'sendCustom'

/** The usual event name of each: `view_homepage`, `search`. sendCustom has none: its caller says it. */
export const EVENT_NAMES = {
  ...Object.fromEntries(NAMED.map((name) => [name, name.replace(/[A-Z]/g, '_$&').toLowerCase()])),
  sendCustom: '',
} as { readonly [O in TrackingOperation]: string }

/**
 * The ten tracking schemas. They differ between page and server in what the gateway completes from the
 * connection: the visitor's address, which a page can not know, and the user agent, where a browser
 * keeps it from its pages.
 *
 * @param completed `text` for the full form, `optionalText` for the page form.
 * @param object valibot's `object`; the script leaves it away, since `check` needs only the entries.
 */
export const createEventSchemas = <C extends typeof text | typeof optionalText>(
  completed: C,
  object = ((entries: object) => ({ entries })) as unknown as typeof valibotObject,
) => {
  const common = {
    did: text,
    event: text,
    url,
    http_user_agent: completed,
    remote_addr: completed,
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
