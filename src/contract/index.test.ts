import { expect, test } from 'vitest'
import { completePayloads, operations } from '../test/payloads.ts'
import { readVectors } from '../test/vectors.ts'
import {
  EVENT_NAMES,
  findOperation,
  type Operation,
  type TrackingOperation,
  ValidationException,
  validate,
} from './index.ts'

type Input = { readonly operation: Operation; readonly payload: unknown }

type Expected = {
  readonly valid: boolean
  /** The one fault, or all of them. */
  readonly path?: string
  readonly paths?: readonly string[]
  /** As right as `path`, where a list stands for an object. */
  readonly orPaths?: readonly string[]
  /** Some fields after conversion. */
  readonly converted?: object
  /** The whole payload after validation. */
  readonly body?: object
}

const vectors = readVectors<Input, Expected>(new URL('./fixtures/contract.json', import.meta.url))

test.each(vectors.map((vector) => [vector.id, vector.kind, vector] as const))(
  '%s: %s',
  (_id, _kind, { input, expected }) => {
    const checked = validate(input.operation, input.payload)
    expect(checked.ok).toBe(expected.valid)
    if (checked.ok) {
      const given = input.payload as { [field: string]: unknown }
      for (const [field, value] of Object.entries(checked.payload)) {
        // The one conversion of the contract: the digits of a product line's id.
        const digits = field === 'product_id' && typeof value === 'number'
        expect(value).toEqual(digits ? Number(given[field]) : given[field])
      }
      if (expected.converted) expect(checked.payload).toMatchObject(expected.converted)
      if (expected.body) expect(checked.payload).toEqual(expected.body)
    } else {
      const paths = checked.error.issues.map(({ path }) => path)
      const { path, paths: all = [path], orPaths } = expected
      expect([all, orPaths]).toContainEqual(paths)
    }
  },
)

test('the vectors are all there', () => {
  expect(vectors).toHaveLength(244)
})

test.each(operations)('%s: a complete payload comes back as it is', (operation) => {
  const payload = completePayloads[operation]
  expect(validate(operation, payload)).toEqual({ ok: true, payload })
})

test.each(operations)('%s: keys the contract does not name are dropped', (operation) => {
  const payload = completePayloads[operation]
  const more = JSON.parse('{"__proto__":{"a":1},"constructor":1,"restKey":"REST-KEY-1"}')
  const checked = validate(operation, Object.assign(Object.create(null), more, payload))
  expect(checked).toEqual({ ok: true, payload })
  expect(JSON.stringify(checked)).not.toContain('REST-KEY-1')
})

test('keys that a nested object does not name are dropped', () => {
  const payload = completePayloads.addToCart
  const variation = { ...payload.variation, price: 5 }
  expect(validate('addToCart', { ...payload, variation })).toEqual({ ok: true, payload })
})

test('what is optional and null is left off', () => {
  const { source: _, ...page } = completePayloads.viewHomepage
  for (const source of [null, undefined]) {
    const checked = validate('viewHomepage', { ...page, source })
    expect(checked).toEqual({ ok: true, payload: page })
  }
})

const noObjects: readonly unknown[] = [null, undefined, [], 'SECRET-KEY', 5, true, () => 1, 5n]

test.each(operations)('%s: a payload that is no object is one fault of the whole', (operation) => {
  for (const payload of noObjects) {
    const checked = validate(operation, payload)
    expect(checked).toMatchObject({
      ok: false,
      error: { issues: [{ path: '', message: expect.stringMatching(/^Expected an object, rec/) }] },
    })
  }
})

test.each(operations)('%s: an empty payload names what is missing', (operation) => {
  const checked = validate(operation, {})
  const allOptional = operation === 'list' || operation === 'getLatestCampaign'
  expect(checked.ok).toBe(allOptional)
  if (checked.ok) return
  const required = Object.keys(completePayloads[operation]).filter((key) => key !== 'source')
  expect(checked.error.issues.map(({ path }) => path).sort()).toEqual(required.sort())
  for (const { message } of checked.error.issues)
    expect(message).toMatch(/^Expected .+, received undefined$/i)
})

test.each(['nonsense', 'constructor', '__proto__', 'toString', 'hasOwnProperty', '', null])(
  'there is no operation %j',
  (name) => {
    const checked = validate(name as Operation, {})
    const message = 'Expected the name of an operation, received another'
    expect(checked).toMatchObject({ ok: false, error: { issues: [{ path: '', message }] } })
  },
)

test('a payload is not changed', () => {
  const payload = { ...completePayloads.addToCart, product_id: '007', source: null, more: 1 }
  const before = structuredClone(payload)
  Object.freeze(payload)
  expect(validate('addToCart', payload)).toMatchObject({ ok: true, payload: { product_id: 7 } })
  expect(payload).toEqual(before)
})

test.each(Object.entries(EVENT_NAMES).filter(([, name]) => name))(
  'findOperation: %s by its usual name',
  (operation, event) => {
    expect(findOperation({ event, variation: {}, email: '', search_term: '' })).toBe(operation)
  },
)

test.each<[fields: object, operation: TrackingOperation]>([
  [{ variation: 1, search_term: 1, email_address: 1, email: 1, product_id: 1 }, 'addToCart'],
  [{ search_term: 1, email_address: 1, email: 1, product_id: 1 }, 'search'],
  [{ email_address: 1, email: 1, product_id: 1 }, 'setEmail'],
  [{ email: 1, product_id: 1 }, 'sendCustom'],
  [{ product_id: 1 }, 'viewProduct'],
  [{}, 'viewHomepage'],
  [{ quantity: 1 }, 'viewHomepage'],
])('findOperation: an unknown name is told by its fields %j', (fields, operation) => {
  expect(findOperation({ ...fields, event: 'own_name' })).toBe(operation)
  expect(findOperation(fields)).toBe(operation)
})

test.each([
  'constructor',
  '__proto__',
  'toString',
  'valueOf',
  '',
  'ADD_TO_CART',
  ' add_to_cart',
  'addToCart',
  'sendCustom',
  7,
  null,
  ['add_to_cart'],
  { toString: 'add_to_cart' },
])('findOperation: %j is no name of an operation', (event) => {
  expect(findOperation({ event })).toBe('viewHomepage')
  expect(findOperation({ event }, new Map(), 'shop_')).toBe('viewHomepage')
})

test('findOperation: a prefix of the customer is removed, a name without it still counts', () => {
  expect(findOperation({ event: 'shop_search' }, new Map(), 'shop_')).toBe('search')
  expect(findOperation({ event: 'search' }, new Map(), 'shop_')).toBe('search')
  expect(findOperation({ event: 'shop_search' })).toBe('viewHomepage')
  expect(findOperation({ event: 'shop_shop_search' }, new Map(), 'shop_')).toBe('viewHomepage')
})

test.each<[event: string, fields: object, operation: TrackingOperation]>([
  ['de_remove_from_cart', { variation: {} }, 'removeFromCart'],
  ['de_add_to_wishlist', { variation: {} }, 'addToWishlist'],
  ['de-remove_from_wishlist', { variation: {} }, 'removeFromWishlist'],
  ['shop.de:add_to_cart', { variation: {} }, 'addToCart'],
  ['de_initiate_checkout', {}, 'initiateCheckout'],
  ['de_search', { search_term: '' }, 'search'],
  ['wish_add_to_cart', { variation: {} }, 'addToCart'],
  // No separator, another shape: told by the fields alone.
  ['deinitiate_checkout', {}, 'viewHomepage'],
  ['quick_search', { email: '' }, 'sendCustom'],
  ['after_search', {}, 'viewHomepage'],
  ['_'.repeat(100_000), {}, 'viewHomepage'],
])('findOperation: a prefix that nobody told, %.40s', (event, fields, operation) => {
  expect(findOperation({ ...fields, event })).toBe(operation)
})

test.each<[event: string, operation: TrackingOperation]>([
  ['cart_remove', 'removeFromCart'],
  ['remove_from_cart_de', 'removeFromCart'],
  ['deremove_from_cart', 'removeFromCart'],
  ['DELETE_LINE', 'removeFromCart'],
  ['removedProduct', 'removeFromCart'],
  ['wishlist_remove', 'removeFromWishlist'],
  ['DeleteFavorite', 'removeFromWishlist'],
  ['favourite deleted', 'removeFromWishlist'],
  ['Added to Wishlist', 'addToWishlist'],
  ['favorites', 'addToWishlist'],
  ['cart_add', 'addToCart'],
  ['basket', 'addToCart'],
  ['', 'addToCart'],
  [`${'x'.repeat(100_000)}remove`, 'removeFromCart'],
])('findOperation: the words in an unknown name of a line, %.40s', (event, operation) => {
  expect(findOperation({ event, variation: {} })).toBe(operation)
  expect(findOperation({ event: `x_${event}`, variation: {} }, new Map(), 'x_')).toBe(operation)
  // Of what is no line they say nothing.
  expect(findOperation({ event, product_id: '1' })).toBe('viewProduct')
})

const email = 'ana@shop.example'
test.each<[event: string, fields: object, operation: TrackingOperation]>([
  ['add_to_cart', { email }, 'sendCustom'],
  ['search', { email }, 'sendCustom'],
  ['view_product', { email, search_term: 'x' }, 'sendCustom'],
  ['set_email', { email }, 'sendCustom'],
  ['view_homepage', { email }, 'sendCustom'],
  ['initiate_checkout', { email }, 'sendCustom'],
  ['x_add_to_wishlist', { email }, 'sendCustom'],
  ['search', { email, search_term: null }, 'sendCustom'],
  ['initiate_checkout', { email: 'no address' }, 'sendCustom'],
  // It has something of the operation's own, so a fault in it is told.
  ['add_to_cart', { email, quantity: 1 }, 'addToCart'],
  ['search', { email, search_term: '' }, 'search'],
  ['set_email', { email, firstname: 'Ana' }, 'setEmail'],
  ['set_email', { email, email_address: email }, 'setEmail'],
  // There is no address in it.
  ['search', {}, 'search'],
  ['initiate_checkout', { email: null }, 'initiateCheckout'],
  ['initiate_checkout', { email: ' ' }, 'initiateCheckout'],
  ['initiate_checkout', { email: 7 }, 'initiateCheckout'],
])('findOperation: a usual name beside an e-mail address, %s %j', (event, fields, operation) => {
  expect(findOperation({ ...fields, event }, new Map(), 'x_')).toBe(operation)
})

test('findOperation: a name of the customer’s own beside an e-mail address', () => {
  const names = new Map<string, TrackingOperation>([
    ['basket', 'addToCart'],
    ['quiz', 'sendCustom'],
  ])
  expect(findOperation({ event: 'basket', email }, names)).toBe('sendCustom')
  expect(findOperation({ event: 'basket' }, names)).toBe('addToCart')
  expect(findOperation({ event: 'quiz', email }, names)).toBe('sendCustom')
  expect(findOperation({ event: 'quiz', product_id: '1' }, names)).toBe('sendCustom')
})

test('findOperation: own names go before the usual ones', () => {
  const names = new Map<string, TrackingOperation>([
    ['basket', 'removeFromCart'],
    ['search', 'viewProduct'],
  ])
  expect(findOperation({ event: 'basket', email: '' }, names)).toBe('removeFromCart')
  expect(findOperation({ event: 'x_basket' }, names, 'x_')).toBe('removeFromCart')
  expect(findOperation({ event: 'search' }, names)).toBe('viewProduct')
  expect(findOperation({ event: 'set_email' }, names)).toBe('setEmail')
})

test('findOperation: only fields of the payload itself count', () => {
  expect(findOperation(Object.create({ event: 'search', variation: {} }))).toBe('viewHomepage')
  expect(findOperation(JSON.parse('{"__proto__":{"email":"a"}}'))).toBe('viewHomepage')
  expect(findOperation(Object.assign(Object.create(null), { event: 'search' }))).toBe('search')
})

test.each(noObjects)('findOperation: %s is a page event, which validate refuses', (payload) => {
  expect(findOperation(payload)).toBe('viewHomepage')
})

test('a fault is a ValidationException', () => {
  const checked = validate('viewHomepage', null)
  expect(!checked.ok && checked.error).toBeInstanceOf(ValidationException)
})
