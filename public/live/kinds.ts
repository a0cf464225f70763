/** What the live view shows of an event: its kind, its subject, its page, its device. */
import type { Payload } from '../operator/feed.ts'
import { KINDS, type Kind } from '../operator/kinds.ts'

/** The three steps of the funnel, each with the kind that counts for it. */
export const FUNNEL = [
  { kind: 'viewProduct', name: 'Product view' },
  { kind: 'addToCart', name: 'Cart' },
  { kind: 'initiateCheckout', name: 'Checkout' },
] as const satisfies readonly { readonly kind: Kind; readonly name: string }[]

export function kindOf(event: { readonly operation: string; readonly event: string }): Kind {
  const { operation } = event
  if (operation === 'viewHomepage' && !String(event.event).endsWith('view_homepage')) return 'page'
  return isKind(operation) ? operation : 'sendCustom'
}

const isKind = (operation: string): operation is Kind => KINDS.has(operation as Kind)

/** Length at which texts in a row of the list are cut, characters: no window has room for more. */
export const MAX_SHOWN = 300

/** A text as a row shows it. */
export function cut(text: string): string {
  if (text.length <= MAX_SHOWN) return text
  // `length` counts UTF-16 units, and some characters are two of them.
  const characters = [...text.slice(0, 2 * MAX_SHOWN)]
  return characters.length <= MAX_SHOWN && text.length <= 2 * MAX_SHOWN
    ? text
    : `${characters.slice(0, MAX_SHOWN).join('')}…`
}

/** The subject of an event, cut: product, search term, e-mail address or event name. */
export function subjectOf(record: { readonly event: string; readonly payload: Payload }): {
  readonly main: string
  readonly more: string
} {
  const { main, more } = subject(record)
  return { main: cut(String(main)), more: cut(String(more)) }
}

function subject({ event, payload }: { readonly event: string; readonly payload: Payload }) {
  if (payload.variation) {
    const { sku } = payload.variation as Payload
    return { main: `#${payload.product_id}`, more: `× ${payload.quantity}  ${sku}` }
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
 * The page's path, query and fragment. The address is not parsed, since parsing a long host takes quadratic time. A
 * text that is not an address is shown as it is.
 */
export function pathOf({ payload }: { readonly payload: Payload }): string {
  const url = String(payload.url ?? '')
  const [, path] = /^https?:\/\/[^/?#]*(.*)/is.exec(url) ?? []
  if (path === undefined) return cut(url)
  return cut(path.startsWith('/') ? path : `/${path}`)
}

/** The first eight characters, enough to distinguish devices. */
export const shortDid = (did: string): string => did.slice(0, 8)

/**
 * Whether an event was sent without the visitor's consent: the gateway then gives it a device id of one day, a UUID of
 * version 8 (RFC 9562, 5.8). Browsers make version 4.
 */
export const hasNoConsent = ({ did }: { readonly did: string | null }): boolean =>
  /^[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/i.test(did ?? '')
