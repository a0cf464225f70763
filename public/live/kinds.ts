/** What the live view shows of an event: its kind, its subject, its page, its device. */
import type { Payload } from '../operator/feed.ts'
import { KINDS, type Kind } from '../operator/kinds.ts'
import { money } from '../operator/money.ts'
import { counted } from '../operator/numbers.ts'

/** The steps of the funnel, each with the kind that counts for it. `one` is the noun of what is counted. */
export const FUNNEL = [
  { kind: 'viewProduct', name: 'Product view', one: 'event' },
  { kind: 'addToCart', name: 'Cart', one: 'event' },
  { kind: 'initiateCheckout', name: 'Checkout', one: 'event' },
  { kind: 'saveOrder', name: 'Order', one: 'order' },
] as const satisfies readonly { readonly kind: Kind; readonly name: string; readonly one: string }[]

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

type Described = {
  readonly kind: Kind
  readonly event: string
  readonly payload: Payload
}

/**
 * The subject of an event, cut: product, search term, order, e-mail address or event name. `amount` is money; '' for
 * none.
 */
export function subjectOf(record: Described): {
  readonly main: string
  readonly amount: string
  readonly more: string
} {
  const { main, more, amount = '' } = subject(record)
  return { main: cut(textOf(main)), amount: cut(amount), more: cut(textOf(more)) }
}

type Subject = { readonly main: unknown; readonly more: unknown; readonly amount?: string }

function subject({ kind, event, payload }: Described): Subject {
  if (kind === 'saveOrder') return orderOf(payload)
  if (kind === 'updateOrderStatus')
    return { main: numberOf(payload.order_number), more: payload.order_status }
  if (kind === 'addSubscriber') return { main: payload.email, more: nameOfPerson(payload) }
  if (kind === 'removeSubscriber') return { main: payload.email, more: listed(payload.channels) }
  if (payload.variation) {
    const { sku } = payload.variation as Payload
    return { main: `#${payload.product_id}`, more: `× ${payload.quantity}  ${sku}` }
  }
  if (payload.search_term !== undefined) return { main: `“${payload.search_term}”`, more: '' }
  if (payload.email_address !== undefined)
    return { main: payload.email_address, more: nameOfPerson(payload) }
  if (payload.email !== undefined) return { main: event, more: payload.email }
  if (payload.product_id !== undefined) return { main: `#${payload.product_id}`, more: '' }
  return { main: '', more: event }
}

function orderOf({
  number: given,
  total_value: total,
  currency,
  products,
  email_address,
}: Payload): Subject {
  const count = Array.isArray(products) ? counted(products.length, 'product') : ''
  return {
    main: numberOf(given),
    amount: total === undefined ? '' : money(textOf(total), textOf(currency)),
    more: [count, email_address].filter(Boolean).join(' · '),
  }
}

const numberOf = (given: unknown): string => `No. ${textOf(given) || '?'}`

const nameOfPerson = ({ name, firstname, lastname }: Payload): string =>
  textOf(name) || [firstname, lastname].filter(Boolean).join(' ')

const listed = (list: unknown): string => (Array.isArray(list) ? list.join(', ') : '')

/** A shortened payload may lack any field. */
const textOf = (value: unknown): string => String(value ?? '')

/** The e-mail address that an event gives, as orders are compared with it. '' for none. */
export function addressOf({ kind, payload }: Pick<Described, 'kind' | 'payload'>): string {
  const given = kind === 'sendCustom' ? payload.email : payload.email_address
  return textOf(given).trim().toLowerCase()
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
