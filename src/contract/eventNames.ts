import type { TrackingOperation } from './payloads.ts'

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
} satisfies Record<TrackingOperation, string>

/** The usual event name, derived from the operation's name. In the script this is 40 bytes smaller than the list. */
export const eventNameOf = (operation: TrackingOperation): string =>
  operation === 'sendCustom' ? '' : operation.replace(/[A-Z]/g, '_$&').toLowerCase()

/** An event name without the customer's prefix, if it begins with it. */
export const withoutPrefix = (event: string, prefix: string): string =>
  event.startsWith(prefix) ? event.slice(prefix.length) : event
