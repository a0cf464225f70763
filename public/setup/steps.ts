/** The eleven operations in the order of a walk through a shop: what to do for each, and how a page reports it. */
import type { Coverage } from '../../src/contract/problems.ts'
import type { CheckedPage } from '../../src/contract/setup.ts'

export type Operation = Coverage['operation']

export type Step = {
  readonly operation: Operation
  /** Kind of the page to open. Absent for what no page does. */
  readonly page?: CheckedPage['kind']
  /** What to do there, one sentence. */
  readonly act: string
  /** The element that reports it. Absent if attributes can not. */
  readonly attribute?: string
  /** The call of a helper, or of a server. */
  readonly call: string
  /** What else there is to know. */
  readonly note?: string
}

/** A product of the examples, as attributes and as fields. */
const PRODUCT =
  'data-track-product-id="12" data-track-variation-id="12-1" data-track-variation-sku="MUG-BLUE"'
const LINE = "{ product_id: 12, quantity: 1, variation: { id: '12-1', sku: 'MUG-BLUE' } }"

const button = (helper: string, label: string): string =>
  `<button data-track="${helper}" ${PRODUCT}>${label}</button>`

/**
 * @param gateway The gateway's address, without a slash at its end.
 * @param customerId The customer, for the call of its server.
 * @param name The global name of the helpers.
 */
export const makeSteps = (gateway: string, customerId: string, name: string): readonly Step[] => [
  {
    operation: 'viewHomepage',
    page: 'home',
    act: 'Open any page of the shop.',
    call: `${name}.viewHomepage()`,
    note: 'Page views come by themselves, unless the key’s setting pageViews is off. Call the helper on the home page alone.',
  },
  {
    operation: 'viewProduct',
    page: 'product',
    act: 'Open the page of a product.',
    attribute:
      '<main data-track="viewProduct" data-track-product-id="12" data-track-on="load">…</main>',
    call: `${name}.viewProduct({ product_id: '12' })`,
  },
  {
    operation: 'search',
    page: 'search',
    act: 'Search for something.',
    attribute: '<form action="/search" data-track="search"><input type="search" name="q"></form>',
    call: `${name}.search({ search_term: 'mug' })`,
  },
  {
    operation: 'addToWishlist',
    page: 'product',
    act: 'Put a product on the wishlist.',
    attribute: button('addToWishlist', 'Remember'),
    call: `${name}.addToWishlist(${LINE})`,
    note: 'A shop without a wishlist skips this.',
  },
  {
    operation: 'removeFromWishlist',
    page: 'product',
    act: 'Take it off the wishlist.',
    attribute: button('removeFromWishlist', 'Forget'),
    call: `${name}.removeFromWishlist(${LINE})`,
  },
  {
    operation: 'addToCart',
    page: 'product',
    act: 'Put a product into the cart.',
    attribute: button('addToCart', 'Add to cart'),
    call: `${name}.addToCart(${LINE})`,
  },
  {
    operation: 'removeFromCart',
    page: 'cart',
    act: 'Remove it from the cart, or lower its quantity.',
    attribute: button('removeFromCart', 'Remove'),
    call: `${name}.removeFromCart(${LINE})`,
  },
  {
    operation: 'initiateCheckout',
    page: 'checkout',
    act: 'Put a product into the cart again, and go to the checkout.',
    attribute: '<main data-track="initiateCheckout" data-track-on="load">…</main>',
    call: `${name}.initiateCheckout()`,
  },
  {
    operation: 'setEmail',
    page: 'checkout',
    act: 'Give an e-mail address, at the checkout or for the newsletter.',
    attribute:
      '<form action="/newsletter" data-track="setEmail"><input type="email" name="email"></form>',
    call: `${name}.setEmail({ email_address: 'ana@shop.example' })`,
  },
  {
    operation: 'sendCustom',
    page: 'home',
    act: 'Do what the shop reports under a name of its own.',
    attribute:
      '<form action="/notify" data-track="sendCustom" data-track-event="back_in_stock"><input type="email" name="email"></form>',
    call: `${name}.sendCustom({ event: 'back_in_stock', email: 'ana@shop.example' })`,
    note: 'Only if the shop has such an event.',
  },
  {
    operation: 'sendCustomApi',
    act: 'Report an event from the shop’s server.',
    call: `curl '${gateway}/api/v1/custom_events?k=RESTKEY&u=${encodeURIComponent(customerId)}' -H 'content-type: application/json' -d '{"event":"quiz_done","email":"ana@shop.example"}'`,
    note: 'Put the REST key in place of RESTKEY. It belongs to the server, never into a page.',
  },
]
