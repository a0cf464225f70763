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

/** Texts in a row of the list are shown up to this length, characters: more has no room in any window. */
export const MAX_SHOWN = 300

/** A text as a row shows it. */
export function cut(/** @type {string} */ text) {
  if (text.length <= MAX_SHOWN) return text
  // Some characters are two units.
  const characters = [...text.slice(0, 2 * MAX_SHOWN)]
  return characters.length <= MAX_SHOWN && text.length <= 2 * MAX_SHOWN
    ? text
    : `${characters.slice(0, MAX_SHOWN).join('')}…`
}

/** What the event is about, in a few characters: product, search term, e-mail or name. */
export function subjectOf(record) {
  const { main, more } = subject(record)
  return { main: cut(String(main)), more: cut(String(more)) }
}

function subject({ event, payload }) {
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

/**
 * The page's path, query and fragment, without its host, which is not parsed: that takes the square of its
 * length. An address that is none is shown as it is.
 */
export function pathOf({ payload }) {
  const url = String(payload.url ?? '')
  const [, path] = /^https?:\/\/[^/?#]*(.*)/is.exec(url) ?? []
  if (path === undefined) return cut(url)
  return cut(path.startsWith('/') ? path : `/${path}`)
}

/** The first eight characters tell devices apart for the eye; an event by API has no device. */
export const shortDid = (/** @type {string | null} */ did) => did?.slice(0, 8) ?? ''

/** `1 device`, `2 devices`: the word. */
export const nameOf = (/** @type {number} */ count, /** @type {string} */ one) =>
  count === 1 ? one : `${one}s`
