import type { TrackingOperation } from '../../contract/payloads.ts'
import { guard } from '../lib/guard.ts'
import {
  CART_NAME,
  CART_TEXT,
  CHECKOUT_LINK,
  CHECKOUT_NAME,
  CHECKOUT_TEXT,
  CHOICE_NAME,
  NEWSLETTER,
  SEARCH_FIELD_NAME,
  SEARCH_NAME,
  UNSUBSCRIBE,
  WISHLIST_NAME,
  WISHLIST_TEXT,
} from './shopWords.ts'

/** The most elements of a page that are looked at, and the most guesses. */
const MAX_CONTROLS = 600
const MAX_GUESSES = 30
/** A longer text is not that of a button. */
const MAX_BUTTON_TEXT = 60
/** In place of a value that the page does not give. */
export const UNKNOWN = '…'

/** Something on the page that could be tracked, probably. */
export type Guess = {
  readonly operation: TrackingOperation
  /** Where the attributes belong. */
  readonly element: HTMLElement
  /** What it was recognised by. */
  readonly why: string
  readonly attributes: readonly (readonly [name: string, value: string])[]
  /** What to check, one sentence each. */
  readonly notes: readonly string[]
  /** How many such elements the page has. */
  readonly count: number
}

type Found = Omit<Guess, 'count'>
type Attributes = (readonly [name: string, value: string])[]

/**
 * What could be tracked on a page and is not: search, newsletter and sign-in forms, buttons for the cart, the wishlist and
 * the checkout, and the page's product. Recognised by schema.org data, addresses, names and texts. It reads the page only.
 *
 * @param operations Those that the page has already reported, in whatever way. They are left out.
 */
export function findUntracked(page: Document, operations: ReadonlySet<string>): Guess[] {
  const product = readProduct(page)
  const found: Found[] = []
  const add = (one: Found | undefined) => {
    if (one && !operations.has(one.operation) && !isTracked(one)) found.push(one)
  }
  for (const form of [...page.querySelectorAll('form')].slice(0, MAX_CONTROLS)) {
    add(guessSearch(form))
    add(guessEmail(form))
  }
  for (const field of page.querySelectorAll<HTMLInputElement>('input[type=search]'))
    if (!field.form) add(guessSearchField(field))
  const controls = page.querySelectorAll<HTMLElement>(
    'button,a[href],input[type=submit],input[type=button],input[type=image],[role=button]',
  )
  for (const control of [...controls].slice(0, MAX_CONTROLS)) add(guessControl(control, product))
  if (product) add(guessProduct(page, product))
  return group(found).slice(0, MAX_GUESSES)
}

/** The attributes as they are pasted into a tag. */
export const toHtml = ({ attributes }: Pick<Guess, 'attributes'>): string =>
  attributes
    .map(([name, value]) => `${name}="${value.replace(/&/g, '&amp;').replace(/"/g, '&quot;')}"`)
    .join(' ')

/** Whether an element with this helper is there already: the same one, one around it or one inside it. */
function isTracked({ element, operation }: Found): boolean {
  const selector = `[data-track="${operation}"]`
  return !!(element.closest(selector) ?? element.querySelector(selector))
}

/** Joins guesses that differ only in their values: the cards of a product list. */
function group(found: readonly Found[]): Guess[] {
  const groups = new Map<string, Guess>()
  for (const one of found) {
    const { operation, element, attributes } = one
    // A search form is often there twice: for large and for small screens.
    const look = /^(search|viewProduct)$/.test(operation)
      ? ''
      : element.localName + element.className
    const name = `${[operation, look, attributes.map(([attribute]) => attribute)]}`
    const known = groups.get(name)
    groups.set(name, known ? { ...known, count: known.count + 1 } : { ...one, count: 1 })
  }
  return [...groups.values()]
}

// Forms

const fieldsOf = (form: Element, selector: string): HTMLInputElement[] => [
  ...form.querySelectorAll<HTMLInputElement>(selector),
]

/** The name, the id and the other words that a developer has chosen for an element. */
const namesOf = (element: Element): string =>
  [
    'id',
    'class',
    'name',
    'action',
    'formaction',
    'href',
    'data-action',
    'data-button-action',
    'data-role',
    'data-test',
  ]
    .map((name) => element.getAttribute(name) ?? '')
    .join(' ')

/** A selector for a field within its form. */
const selectorOf = ({ name, id, type }: HTMLInputElement): string =>
  /^[\w-]+$/.test(name)
    ? `[name=${name}]`
    : name
      ? `[name='${name.replace(/['\\]/g, '\\$&')}']`
      : /^[\w-]+$/.test(id)
        ? `#${id}`
        : `[type=${type}]`

const TEXT_FIELD =
  'input:not([type]),input[type=text],input[type=search],input[type=email],input[type=tel]'

function guessSearch(form: HTMLFormElement): Found | undefined {
  const texts = fieldsOf(form, TEXT_FIELD)
  const field =
    texts.find(({ type }) => type === 'search') ??
    texts.find(({ name }) => SEARCH_FIELD_NAME.test(name)) ??
    (texts.length === 1 ? texts[0] : undefined)
  if (!field || texts.some(({ type }) => type === 'email') || form.querySelector('[type=password]'))
    return
  const isSearch =
    form.getAttribute('role') === 'search' || form.closest('search,[role=search]') !== null
  const why = isSearch
    ? 'a form with the role search'
    : field.type === 'search'
      ? 'a form with a search field'
      : SEARCH_NAME.test(namesOf(form)) || SEARCH_NAME.test(namesOf(field))
        ? 'a form that is named like a search'
        : SEARCH_FIELD_NAME.test(field.name) &&
            form.getAttribute('method')?.toLowerCase() !== 'post' &&
            texts.length === 1
          ? `a form with the field ${field.name}`
          : undefined
  if (!why) return
  const isRead = field.type === 'search' || /^[qs]$/.test(field.name)
  return {
    operation: 'search',
    element: form,
    why,
    attributes: [
      ['data-track', 'search'],
      ...(isRead ? [] : [['data-track-search-term-from', selectorOf(field)] as const]),
    ],
    notes: ['Not needed if the page of the results reports the search.'],
  }
}

const guessSearchField = (field: HTMLInputElement): Found => ({
  operation: 'search',
  element: field,
  why: 'a search field without a form',
  attributes: [
    ['data-track', 'search'],
    ['data-track-search-term-from', selectorOf(field)],
  ],
  notes: [
    'Reported when the visitor has changed the field. Not needed if your code reports the search.',
  ],
})

/** Fields that are sent with an e-mail address, by what their names contain. */
const PERSON: readonly (readonly [attribute: string, name: RegExp])[] = [
  [
    'firstname',
    /first[-_]?name|fname|given[-_]?name|vorname|prenom|prénom|voornaam|^nombre$|^nome$|^prenume$|imie/i,
  ],
  [
    'lastname',
    /last[-_]?name|lname|surname|family[-_]?name|nachname|^nom$|achternaam|apellido|cognome|sobrenome|nazwisko|^nume$/i,
  ],
  ['phone', /phone|telefon|telephone|^tel$|mobile/i],
]

function guessEmail(form: HTMLFormElement): Found | undefined {
  const texts = fieldsOf(form, TEXT_FIELD)
  const email =
    texts.find(({ type }) => type === 'email') ?? texts.find(({ name }) => /mail/i.test(name))
  // A message to the shop is no sign-in and no newsletter.
  if (!email || form.querySelector('textarea')) return
  const words = `${namesOf(form)} ${namesOf(email)} ${form.textContent.slice(0, 2_000)}`
  const isSignIn = form.querySelector('[type=password]') !== null
  const isNewsletter = NEWSLETTER.test(words) && !UNSUBSCRIBE.test(words)
  const isOrder = CHECKOUT_NAME.test(namesOf(form))
  if (!isSignIn && !isNewsletter && !isOrder) return
  const isRead = email.type === 'email' || email.name === 'email'
  const person = PERSON.flatMap(([attribute, name]) => {
    const field = texts.find((one) => one !== email && name.test(one.name))
    return field ? [[`data-track-${attribute}-from`, selectorOf(field)] as const] : []
  })
  return {
    operation: 'setEmail',
    element: form,
    why: isSignIn
      ? 'a form with an e-mail address and a password'
      : isNewsletter
        ? 'a form that looks like a newsletter'
        : 'a form with an e-mail address at the checkout',
    attributes: [
      ['data-track', 'setEmail'],
      ...(isRead ? [] : [['data-track-email-address-from', selectorOf(email)] as const]),
      ...person,
    ],
    notes: [
      'If the page sends the form by itself, add data-track-prevented="count".',
      'Not needed if your code reports the address.',
    ],
  }
}

// Buttons

function guessControl(control: HTMLElement, product: Product | undefined): Found | undefined {
  const texts = textsOf(control)
  const text = texts[0] ?? ''
  const says = (words: RegExp) => texts.some((one) => words.test(one))
  const names = namesOf(control)
  const form = control.closest('form')
  const isSubmit = control.matches('button:not([type]),[type=submit]')
  if (/remove|delete|entfern|supprimer|elimina/i.test(names) || CHOICE_NAME.test(names)) return
  if (WISHLIST_NAME.test(names) || says(WISHLIST_TEXT))
    return leadsAway(control) ? undefined : guessLine('addToWishlist', control, product, text)
  if (
    CART_NAME.test(names) ||
    says(CART_TEXT) ||
    (isSubmit && form && CART_NAME.test(namesOf(form)) && fieldsOf(form, ID_FIELD).length > 0)
  )
    return leadsAway(control) ? undefined : guessLine('addToCart', control, product, text)
  if (
    says(CHECKOUT_TEXT) ||
    (control.matches('a') && CHECKOUT_LINK.test(control.getAttribute('href') ?? '') && text)
  )
    return {
      operation: 'initiateCheckout',
      element: control,
      why: `a button for the checkout: ${quote(text)}`,
      attributes: [['data-track', 'initiateCheckout']],
      notes: ['Not needed if the page of the checkout reports it.'],
    }
  return
}

/** Whether a control is a link to the cart or the wishlist: it has an address, which adds nothing, and no product. */
function leadsAway(control: HTMLElement): boolean {
  const address = control.getAttribute('href') ?? ''
  return (
    control.matches('a') &&
    !/^(#|javascript:|$)/i.test(address) &&
    !/\badd|ajout|hinzu|dodaj|aggiungi/i.test(address) &&
    !productIdOf(control)
  )
}

/** The texts of a control: what a visitor sees, then what is read out. Those that are too long for a button are left out. */
const textsOf = (control: HTMLElement): string[] =>
  [
    control.textContent,
    (control as HTMLInputElement).value,
    control.getAttribute('aria-label'),
    control.title,
  ]
    .map((text) => (typeof text === 'string' ? text.replace(/\s+/g, ' ').trim() : ''))
    .filter((text) => text && text.length <= MAX_BUTTON_TEXT)

const quote = (text: string) => `“${text}”`

/** Attributes and parameters in which shops write the id of a product. */
const ID_ATTRIBUTES = [
  'data-product_id',
  'data-product-id',
  'data-id-product',
  'data-productid',
  'data-pid',
]
const ID_PARAMETER = /[?&](?:add-to-cart|id_product|product_id|product|pid)=(\d+)/
const ID_FIELD =
  '[name=product],[name=product_id],[name=product-id],[name=id_product],[name=add-to-cart],[name=productId],[name=pid],[name=id]'
const VARIATION_FIELD =
  '[name=variation_id],[name=id_product_attribute],[name=variant],[name=variant_id],[name=variantId]'
const SKU_ATTRIBUTES = ['data-product_sku', 'data-product-sku', 'data-sku']
const QUANTITY_FIELD =
  'input[name^=quantity],input[name^=qty],select[name^=quantity],select[name^=qty],input[name=amount]'
/** A product card of a list, or the product of a page. */
const CARD = `[itemtype*="schema.org/Product"],${ID_ATTRIBUTES.map((name) => `[${name}]`).join()},article,li`

/** How many elements around a control may belong to it, if it is in no form. */
const MAX_AROUND = 4

/** The form of a control, or the nearest element around it with the fields of a product. */
function scopeOf(control: HTMLElement): Element | null {
  let scope: Element | null = control.closest('form')
  if (scope) return scope
  scope = control.parentElement
  for (let level = 0; scope && level < MAX_AROUND; level++, scope = scope.parentElement)
    if (scope.querySelector(`${ID_FIELD},${QUANTITY_FIELD}`)) return scope
  return null
}

const attributeOf = (element: Element | null | undefined, names: readonly string[]) =>
  names.map((name) => element?.getAttribute(name)?.trim()).find(Boolean)

/** The id of a product at a control: in its own attributes, its address, its form or its card. */
function productIdOf(control: HTMLElement): string | undefined {
  const form = scopeOf(control)
  const card = control.closest(CARD)
  const value = (control as HTMLButtonElement).value
  return (
    attributeOf(control, ID_ATTRIBUTES) ??
    (/^(add-to-cart|product_id|id_product)$/.test(control.getAttribute('name') ?? '') && value
      ? value
      : undefined) ??
    ID_PARAMETER.exec(control.getAttribute('href') ?? '')?.[1] ??
    attributeOf(form, ID_ATTRIBUTES) ??
    (form && fieldsOf(form, ID_FIELD).find((field) => field.name !== 'id' && field.value)?.value) ??
    attributeOf(card, ID_ATTRIBUTES) ??
    (card?.matches('[itemtype]') ? readItem(card, 'productID') : undefined) ??
    undefined
  )
}

function guessLine(
  operation: 'addToCart' | 'addToWishlist',
  control: HTMLElement,
  product: Product | undefined,
  text: string,
): Found {
  const form = scopeOf(control)
  const own = productIdOf(control)
  // A form with nothing but `id` names the variation, or the product if the page does not say which.
  const bare = form && fieldsOf(form, '[name=id]')[0]
  const isProductPage = product && (form || !control.closest('li,article'))
  const id = own ?? (isProductPage ? product.id : undefined) ?? (product ? undefined : bare?.value)
  const isNumber = /^\d+$/.test(id ?? '')
  const attributes: Attributes = [
    ['data-track', operation],
    ['data-track-product-id', isNumber ? (id as string) : UNKNOWN],
  ]
  const notes: string[] = []
  if (!isNumber)
    notes.push(
      `Replace ${UNKNOWN} by the product's number in the shop${id ? `: the page names only ${quote(id)}` : ''}.`,
    )

  const variation =
    form && (fieldsOf(form, VARIATION_FIELD)[0] ?? (bare?.value === id ? undefined : bare))
  const sku =
    attributeOf(control, SKU_ATTRIBUTES) ??
    attributeOf(control.closest(CARD), SKU_ATTRIBUTES) ??
    (isProductPage ? product.sku : undefined)
  if (variation) {
    const selector = selectorOf(variation)
    attributes.push(['data-track-variation-id-from', selector])
    if (sku && sku !== id) {
      attributes.push(['data-track-variation-sku', sku])
      notes.push('If each variation has an SKU of its own, write that of the chosen one.')
    } else {
      attributes.push(['data-track-variation-sku-from', selector])
      notes.push('The page names no SKU, so the id of the variation is sent in its place.')
    }
  } else if (sku && sku !== id) {
    attributes.push(['data-track-variation-id', isNumber ? (id as string) : UNKNOWN])
    attributes.push(['data-track-variation-sku', sku])
  }

  const quantity = form && fieldsOf(form, QUANTITY_FIELD)[0]
  if (operation === 'addToCart' && quantity)
    attributes.push(['data-track-quantity-from', selectorOf(quantity)])
  notes.push('Not needed if your code or a plugin reports it.')
  return {
    operation,
    element: control,
    why: `${operation === 'addToCart' ? 'a button for the cart' : 'a button for the wishlist'}${text && `: ${quote(text)}`}`,
    attributes,
    notes,
  }
}

// Products

/** The one product that a page describes. */
type Product = {
  readonly id: string
  readonly sku: string | undefined
  readonly why: string
}

const isText = (value: unknown): value is string | number =>
  (typeof value === 'string' && value.trim() !== '') || typeof value === 'number'
const own = (value: unknown, name: string): unknown =>
  Object.getOwnPropertyDescriptor(Object(value), name)?.value

/** The product of JSON-LD, of microdata, or of the page's meta elements. Undefined if there are several. */
function readProduct(page: Document): Product | undefined {
  const described = [...page.querySelectorAll('script[type="application/ld+json"]')]
    .flatMap(({ textContent }) =>
      productsIn(
        guard(() => JSON.parse(textContent ?? '')),
        0,
      ),
    )
    .slice(0, 2)
  const [one, more] = described
  if (one && !more) {
    const texts = ['productID', 'sku', '@id'].map((name) => own(one, name)).filter(isText)
    const sku = own(one, 'sku')
    if (texts[0] !== undefined)
      return {
        id: `${texts[0]}`.replace(/^\w+:(?=\d+$)/, ''),
        sku: isText(sku) ? `${sku}` : undefined,
        why: 'the page describes a product in JSON-LD',
      }
  }
  const items = page.querySelectorAll('[itemtype*="schema.org/Product"]')
  const item = items.length === 1 ? items[0] : undefined
  const id = item && (readItem(item, 'productID') ?? readItem(item, 'sku'))
  if (item && id)
    return { id, sku: readItem(item, 'sku'), why: 'the page describes a product in microdata' }
  const meta = (name: string) =>
    page.querySelector(`meta[property="${name}"]`)?.getAttribute('content')?.trim()
  const retailerId = meta('product:retailer_item_id')
  return meta('og:type') === 'product' && retailerId
    ? { id: retailerId, sku: undefined, why: 'the meta elements of the page describe a product' }
    : undefined
}

/** How deep a description in JSON-LD is read. */
const MAX_DEPTH = 4

/** The products of JSON-LD: on top, in a list or in `@graph`. Those of offers and lists of other products are not. */
function productsIn(value: unknown, depth: number): object[] {
  if (depth > MAX_DEPTH || !value || typeof value !== 'object') return []
  if (Array.isArray(value)) return value.flatMap((one) => productsIn(one, depth + 1))
  const type = own(value, '@type')
  if (([] as unknown[]).concat(type).some((one) => /^(.*\/)?Product(Group)?$/.test(`${one}`)))
    return [value]
  return [
    ...productsIn(own(value, '@graph'), depth + 1),
    ...productsIn(own(value, 'mainEntity'), depth + 1),
  ]
}

function readItem(item: Element, name: string): string | undefined {
  const element = item.querySelector(`[itemprop="${name}"]`)
  return (element?.getAttribute('content') ?? element?.textContent ?? '').trim() || undefined
}

function guessProduct(page: Document, { id, why }: Product): Found | undefined {
  const element =
    page.querySelector<HTMLElement>('[itemtype*="schema.org/Product"]') ??
    page.querySelector<HTMLElement>('main') ??
    page.body
  return {
    operation: 'viewProduct',
    element,
    why,
    attributes: [
      ['data-track', 'viewProduct'],
      ['data-track-on', 'load'],
      ['data-track-product-id', id],
    ],
    notes: ["Or switch on the key's setting schemaOrg, which reads this description."],
  }
}
