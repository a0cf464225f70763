/**
 * The kinds of events in the operators' pages. A kind is the operation; a page event under a name other than
 * `view_homepage` (an automatic `view_page`, `view_category`) is the kind `page`.
 */

/** The names of the kinds, in the order of the list. */
export const KINDS = new Map([
  ['page', 'Page view'],
  ['viewHomepage', 'Homepage'],
  ['viewProduct', 'Product view'],
  ['search', 'Search'],
  ['addToWishlist', 'Wishlist, added'],
  ['removeFromWishlist', 'Wishlist, removed'],
  ['addToCart', 'Cart, added'],
  ['removeFromCart', 'Cart, removed'],
  ['initiateCheckout', 'Checkout'],
  ['saveOrder', 'Order'],
  ['updateOrderStatus', 'Order status'],
  ['setEmail', 'E-mail known'],
  ['addSubscriber', 'Subscribed'],
  ['removeSubscriber', 'Unsubscribed'],
  ['sendCustom', 'Custom'],
  ['sendCustomApi', 'Custom, by API'],
] as const)

type MapKey<M> = M extends Map<infer Key, unknown> ? Key : never
export type Kind = MapKey<typeof KINDS>

/** The name of an operation. Page views of every kind are events of viewHomepage. */
export const nameOperation = (operation: string): string =>
  operation === 'viewHomepage' ? 'Page view' : (KINDS.get(operation as Kind) ?? operation)
