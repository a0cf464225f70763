/**
 * What the live view knows of each kind of event. A kind is the operation; a page event under a name
 * other than `view_homepage` (an automatic `view_page`, `view_category`) is the kind `page`.
 */

/** Kinds in the order in which they are listed: id and what it is called. */
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
  ['setEmail', 'E-mail known'],
  ['sendCustom', 'Custom'],
  ['sendCustomApi', 'Custom, by API'],
])

/** The three steps of the funnel, each with the kinds that count for it. */
export const FUNNEL = [
  { kind: 'viewProduct', name: 'Product view' },
  { kind: 'addToCart', name: 'Cart' },
  { kind: 'initiateCheckout', name: 'Checkout' },
]

export function kindOf({ operation, event }) {
  if (operation === 'viewHomepage' && !String(event).endsWith('view_homepage')) return 'page'
  return KINDS.has(operation) ? operation : 'sendCustom'
}

/** What the event is about, in a few characters: product, search term, e-mail or name. */
export function subjectOf({ event, payload }) {
  if (payload.variation)
    return {
      main: `#${payload.product_id}`,
      more: `× ${payload.quantity}  ${payload.variation.sku}`,
    }
  if (payload.search_term !== undefined) return { main: `“${payload.search_term}”`, more: '' }
  if (payload.email_address !== undefined)
    return {
      main: payload.email_address,
      more: [payload.firstname, payload.lastname].filter(Boolean).join(' '),
    }
  if (payload.email !== undefined) return { main: event, more: payload.email }
  if (payload.product_id !== undefined) return { main: `#${payload.product_id}`, more: '' }
  return { main: '', more: event }
}

/** The page's path and query, without its host. */
export function pathOf({ payload }) {
  try {
    const { pathname, search, hash } = new URL(payload.url)
    return pathname + search + hash
  } catch {
    return String(payload.url ?? '')
  }
}

/** The first eight characters tell devices apart for the eye; an event by API has no device. */
export const shortDid = (/** @type {string | null} */ did) => did?.slice(0, 8) ?? ''

/** `1 device`, `2 devices`: the word. */
export const nameOf = (/** @type {number} */ count, /** @type {string} */ one) =>
  count === 1 ? one : `${one}s`
