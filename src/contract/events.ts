import type { object as valibotObject } from 'valibot'
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
