import type { TrackingOperation } from '../../contract/payloads.ts'
import type { Ga4Settings } from '../../contract/settings.ts'
import type { Config } from '../config.ts'
import type { Report, Reporter } from '../duplicates.ts'
import { listen } from '../lib/listen.ts'
import { now } from '../lib/now.ts'
import type { Kind, Notice } from '../notices.ts'
import type { Part, Reader } from '../parts.ts'

/** The most items that are read from one push. */
const MAX_LINES = 20
/** Reports younger than this are kept over a navigation: the longest duplicateWindowMs. */
const CARRIED_MS = 60_000
/** Their name in sessionStorage. */
const CARRIED = 'track.ga4'

const DIGITS = /^\d+$/

/** GA4 events with an event for each item. */
const BY_NAME: { readonly [name: string]: TrackingOperation } = {
  view_item: 'viewProduct',
  add_to_cart: 'addToCart',
  remove_from_cart: 'removeFromCart',
  add_to_wishlist: 'addToWishlist',
  remove_from_wishlist: 'removeFromWishlist',
}
/** Keys of Universal Analytics in `ecommerce` with an event for each product. */
const BY_KEY: { readonly [key: string]: TrackingOperation } = {
  detail: 'viewProduct',
  add: 'addToCart',
  remove: 'removeFromCart',
}

/** The value of an own field. Pages extend Object.prototype. */
const field = (value: unknown, name: string): unknown =>
  value && {}.propertyIsEnumerable.call(value, name)
    ? (value as { [name: string]: unknown })[name]
    : undefined

/** Trimmed text that is not empty, or a number as text. */
const textOf = (value: unknown): string | undefined =>
  (typeof value === 'string' && value.trim()) ||
  (typeof value === 'number' && Number.isFinite(value) && `${value}`) ||
  undefined

/** Not JSON.stringify: old frameworks give arrays a `toJSON` that calls it again. */
const toText = (value: unknown): string =>
  value && typeof value === 'object' ? Object.values(value).map(toText).join('|') : `${value}`

const first = (value: unknown): unknown => (Array.isArray(value) ? value[0] : value)

/**
 * Reads what shops push for GA4 and Universal Analytics, and their gtag calls (docs/decisions.md, "GA4"). The fields of
 * the setting are taken from the first key that has the reader on.
 */
export const ga4: Part = (track, configs, notices, readers, reports, _newId, session) => {
  const only = ({ ga4: setting }: Config) => setting
  const options = ([...configs.values()].find(only)?.ga4 ?? {}) as Ga4Settings
  const { productId = {}, homepage = [] } = options

  /** Found in the current push. */
  let events: [TrackingOperation, object][]
  let notes: Notice[]

  const note = (operation: string, code: string, message?: string) =>
    notes.push({ operation, code, message, reason: 'invalid' })

  const addItem = (operation: TrackingOperation, name: string, item: unknown, index: number) => {
    const refuse = (code: string, what: string) => note(name, code, `item ${index}: ${what}`)
    const given = textOf(field(item, 'item_id')) ?? textOf(field(item, 'id'))
    const { from, pattern, table } = productId
    const found = from ? textOf(field(item, from)) : given
    if (!found) return refuse('ga4-no-id', `no ${from ?? 'item_id'}`)
    const match = pattern ? new RegExp(pattern).exec(found) : [found]
    const matched = match?.[1] ?? match?.[0]
    const id = table ? textOf(field(table, matched ?? '')) : matched
    const isView = operation === 'viewProduct'
    if (!id || !(isView || (DIGITS.test(id) && +id && Number.isSafeInteger(+id))))
      return refuse('ga4-item-id', `${from ?? 'item_id'} "${found}"`)
    if (isView) return events.push([operation, { product_id: id }])

    const amount = field(item, 'quantity') ?? 1
    const stated = typeof amount === 'string' && amount.trim() ? +amount : amount
    const quantity = options.quantity ? Math.ceil(stated as number) : (stated as number)
    if (!Number.isSafeInteger(quantity) || quantity < 1)
      return refuse('ga4-quantity', `quantity "${amount}"`)

    const label = textOf(field(item, 'item_variant')) ?? textOf(field(item, 'variant'))
    const own = options.variationId && textOf(field(item, options.variationId))
    const isId = label && DIGITS.test(label)
    if (label && !isId && !own) {
      const message = `item ${index}: item_variant "${label}"`
      notes.push({ operation: name, code: 'ga4-variant', message })
    }
    return events.push([
      operation,
      {
        product_id: id,
        quantity,
        variation: {
          id: own || (isId ? label : id),
          sku: (options.sku && textOf(field(item, options.sku))) || given || id,
        },
      },
    ])
  }

  const addItems = (operation: TrackingOperation, name: string, items: unknown) => {
    if (!Array.isArray(items)) return note(name, 'ga4-split-push')
    if (items.length > MAX_LINES) note(name, 'ga4-too-many', `${items.length} items`)
    return items
      .slice(0, MAX_LINES)
      .forEach((item, index) => void addItem(operation, name, item, index))
  }

  const addUserData = (data: unknown) => {
    if (!options.userData || !data) return
    const email_address = textOf(first(field(data, 'email')))
    if (!email_address) return note('user_data', 'ga4-user-data')
    const address = first(field(data, 'address'))
    return events.push([
      'setEmail',
      {
        email_address,
        phone: textOf(first(field(data, 'phone_number'))),
        firstname: textOf(field(address, 'first_name')),
        lastname: textOf(field(address, 'last_name')),
      },
    ])
  }

  /** The last path, so that a page_view event on load does not report the page again. */
  let path: string
  const addHomepage = () => {
    if (path === location.pathname) return
    path = location.pathname
    if (homepage.includes(path)) events.push(['viewHomepage', {}])
  }

  /** Reads an event by its GA4 name. Returns whether it is one of those that are read. */
  const addNamed = (name: string, parameters: unknown): boolean => {
    const operation = field(BY_NAME, name) as TrackingOperation | undefined
    if (operation)
      addItems(
        operation,
        name,
        field(field(parameters, 'ecommerce'), 'items') ?? field(parameters, 'items'),
      )
    else if (name === 'begin_checkout') events.push(['initiateCheckout', {}])
    else if (name === 'search' || (name === 'view_search_results' && options.searchResults)) {
      const search_term = textOf(field(parameters, 'search_term'))
      if (search_term) events.push(['search', { search_term }])
      else note(name, 'ga4-search-term')
    } else if (name === 'page_view') addHomepage()
    else if (/^(purchase|refund)$/.test(name)) note(name, 'ga4-purchase')
    else return false
    return true
  }

  /** Reads the keys of Universal Analytics. */
  const addKeyed = (ecommerce: unknown) => {
    for (const key in BY_KEY) {
      const products = field(field(ecommerce, key), 'products')
      if (products) addItems(BY_KEY[key] as TrackingOperation, key, products)
    }
    const checkout = field(ecommerce, 'checkout')
    const step = textOf(field(field(checkout, 'actionField'), 'step')) ?? '1'
    if (checkout && step === '1') events.push(['initiateCheckout', {}])
    if (field(ecommerce, 'purchase')) note('purchase', 'ga4-purchase')
  }

  /** Reports what was found, unless the same object had the same content before. */
  const report = (by: 'ga4' | 'ga4.gtag' | 'ga4.ua', push: unknown, before?: string) => {
    const text = toText([events, notes])
    if (text === before) return text
    for (const notice of notes) notices.emit('dropped', { ...notice, where: push })
    for (const [operation, payload] of events)
      track(operation, payload, { from: by as Reporter, where: push, only })
    return text
  }

  const read: Reader = (push, before) => {
    events = []
    notes = []
    // A gtag call pushes its `arguments`. Arrays are ignored, as in Google's tag.
    if (Object.prototype.toString.call(push) === '[object Arguments]') {
      const [command, name, parameters] = push as unknown as unknown[]
      if (command === 'event') addNamed(`${name}`, parameters)
      if (command === 'set' && name === 'user_data') addUserData(parameters)
      return report('ga4.gtag', push, before)
    }
    if (Array.isArray(push)) return ''
    const ecommerce = field(push, 'ecommerce')
    const name = field(push, 'event')
    addUserData(field(push, 'user_data'))
    // Universal Analytics with a GA4 name: the key decides.
    const isKeyed = !!ecommerce && !field(ecommerce, 'items')
    if (isKeyed) addKeyed(ecommerce)
    if (events.length || notes.length) return report(isKeyed ? 'ga4.ua' : 'ga4', push, before)
    if (typeof name === 'string') addNamed(name, push)
    return report('ga4', push, before)
  }
  readers.set(read, new WeakMap())

  const takeCarried = () => {
    try {
      // One click may be reported by GA4 on its page and by the shop's plugin on the next.
      for (const [subject, carried] of JSON.parse(session.get(CARRIED) ?? '[]'))
        if (carried.every(({ by }: Report) => by.includes)) reports.set(subject, carried)
    } catch {
      // Not written by this script.
    }
    session.remove(CARRIED)
  }
  takeCarried()
  // Storage may be closed until then.
  notices.on('consent' as Kind, takeCarried)
  listen(window, 'pagehide', () => {
    const carried = [...reports].flatMap(([subject, all]) => {
      const recent = all.filter(({ at }) => now() - at < CARRIED_MS)
      // E-mail addresses are not stored.
      if (!recent.length || subject.includes('@')) return []
      return [[subject, recent.map(({ at, text, by }) => ({ at, text, by }))]]
    })
    if (carried.length) session.set(CARRIED, JSON.stringify(carried))
  })

  events = []
  notes = []
  addHomepage()
  report('ga4', undefined)
}
