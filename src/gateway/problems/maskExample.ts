/** Fields whose values are about the product and not about the visitor. */
const HARMLESS = new Set([
  'event',
  'product_id',
  'quantity',
  'source',
  'variation.id',
  'variation.sku',
])
/** All other fields of events. Names of further fields are not shown: they may be personal too. */
const OTHER_FIELDS = new Set([
  'did',
  'url',
  'http_user_agent',
  'remote_addr',
  'email_address',
  'firstname',
  'lastname',
  'phone',
  'search_term',
  'email',
  // Of orders and subscribers. The number of an order leads to a person.
  ...['number', 'city', 'county', 'address', 'discount_code', 'order_number', 'order_status'],
  ...['name', 'add_tags', 'country', 'birthday', 'channels', 'attributes', 'variation_sku'],
])
/** Amounts of money. They are often refused, and only their text says why. */
const AMOUNTS = new Set(['discount_value', 'shipping', 'tax', 'total_value', 'price'])
/** The most products of an order that are shown. */
const MAX_PRODUCTS = 3
/** A longer text of a harmless field is not shown, characters. */
const MAX_SHOWN = 64

/**
 * A refused payload as JSON, at most some 1,500 characters: personal values are replaced by their kind, such as
 * `text of 12 characters`. A shop that puts something else into a harmless field, such as an address or a name of two
 * words, does not get it shown either.
 */
export function maskExample(payload: Readonly<Record<string, unknown>>): string {
  const shown: Record<string, unknown> = {}
  let further = 0
  for (const [name, value] of Object.entries(payload)) {
    if (name === 'variation') shown.variation = maskVariation(value)
    else if (HARMLESS.has(name)) shown[name] = maskHarmless(value)
    else if (name === 'products') shown.products = maskProducts(value)
    else if (AMOUNTS.has(name)) shown[name] = maskAmount(value)
    else if (OTHER_FIELDS.has(name)) shown[name] = kindOf(value)
    else further++
  }
  if (further > 0) shown['…'] = `and ${further} further field${further === 1 ? '' : 's'}`
  return JSON.stringify(shown)
}

function maskVariation(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return kindOf(value)
  const { id, sku } = value as Record<string, unknown>
  return {
    ...(id !== undefined && { id: maskHarmless(id) }),
    ...(sku !== undefined && { sku: maskHarmless(sku) }),
  }
}

function maskProducts(value: unknown): unknown {
  if (!Array.isArray(value)) return kindOf(value)
  const shown = value.slice(0, MAX_PRODUCTS).map((product: unknown) => {
    if (typeof product !== 'object' || product === null) return kindOf(product)
    const { product_id, price, quantity } = product as Record<string, unknown>
    return {
      ...(product_id !== undefined && { product_id: maskHarmless(product_id) }),
      ...(price !== undefined && { price: maskAmount(price) }),
      ...(quantity !== undefined && { quantity: maskHarmless(quantity) }),
    }
  })
  const further = value.length - shown.length
  return further > 0 ? [...shown, `and ${further} more`] : shown
}

/** Digits in groups. Telephone numbers have more digits in a row, or begin with 0 or +. */
const IS_AMOUNT = /^-?(?!0\d)\d{1,7}(?:[.,]\d{1,6}){0,3}$/

const maskAmount = (value: unknown): unknown =>
  typeof value === 'number' ||
  (typeof value === 'string' && IS_AMOUNT.test(value) && !IS_PERSONAL.test(value))
    ? value
    : kindOf(value)

/** Ids of products and names of events: one word, also with digits. Names of people and postal addresses have spaces. */
const IS_WORD = /^[\w.:/#+-]+$/
/** A telephone number, a URL, an IP address. */
const IS_PERSONAL = /^\+|\/\/|^\d{1,3}(?:\.\d{1,3}){3}|:.*:/

const maskHarmless = (value: unknown): unknown =>
  typeof value === 'number' ||
  (typeof value === 'string' &&
    value.length <= MAX_SHOWN &&
    IS_WORD.test(value) &&
    !IS_PERSONAL.test(value))
    ? value
    : kindOf(value)

/** The kind of a value, without the value. */
function kindOf(value: unknown): string {
  if (typeof value === 'string') {
    const { length } = value
    if (length === 0) return 'empty text'
    return `${value.trim() ? 'text' : 'white space'} of ${length} character${length === 1 ? '' : 's'}`
  }
  if (value === null) return 'null'
  if (Array.isArray(value)) return `list of ${value.length}`
  return typeof value
}
