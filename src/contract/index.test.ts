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
  /** The path of the only issue, or the paths of all. */
  readonly path?: string
  readonly paths?: readonly string[]
  /** Also correct instead of `path`, if the payload has a list in place of an object. */
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
        // The only conversion of the contract: the digits in the product_id of a line.
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

test('no vector is missing', () => {
  expect(vectors).toHaveLength(244)
})

test.each(operations)('%s: a complete payload is returned unchanged', (operation) => {
  const payload = completePayloads[operation]
  expect(validate(operation, payload)).toEqual({ ok: true, payload })
})

test.each(operations)('%s: unknown keys are dropped', (operation) => {
  const payload = completePayloads[operation]
  const more = JSON.parse('{"__proto__":{"a":1},"constructor":1,"restKey":"REST-KEY-1"}')
  const checked = validate(operation, Object.assign(Object.create(null), more, payload))
  expect(checked).toEqual({ ok: true, payload })
  expect(JSON.stringify(checked)).not.toContain('REST-KEY-1')
})

test('unknown keys of a nested object are dropped', () => {
  const payload = completePayloads.addToCart
  const variation = { ...payload.variation, price: 5 }
  expect(validate('addToCart', { ...payload, variation })).toEqual({ ok: true, payload })
})

test('an optional field that is null is dropped', () => {
  const { source: _, ...page } = completePayloads.viewHomepage
  for (const source of [null, undefined]) {
    const checked = validate('viewHomepage', { ...page, source })
    expect(checked).toEqual({ ok: true, payload: page })
  }
})

const notObjects: readonly unknown[] = [null, undefined, [], 'SECRET-KEY', 5, true, () => 1, 5n]

test.each(operations)(
  '%s: a payload that is not an object is one issue without a path',
  (operation) => {
    for (const payload of notObjects) {
      const checked = validate(operation, payload)
      expect(checked).toMatchObject({
        ok: false,
        error: {
          issues: [{ path: '', message: expect.stringMatching(/^Expected an object, rec/) }],
        },
      })
    }
  },
)

/** The required fields of the operations that have several optional ones. */
const REQUIRED: { readonly [O in Operation]?: readonly string[] } = {
  saveOrder: ['number', 'total_value', 'products'],
  addSubscriber: ['email'],
  removeSubscriber: ['email'],
  getEmailReport: ['id'],
}

const ALL_OPTIONAL: readonly Operation[] = ['list', 'getLatestCampaign', 'unsubscribedEmails']

test.each(operations)('%s: an empty payload has an issue for each required field', (operation) => {
  const checked = validate(operation, {})
  expect(checked.ok).toBe(ALL_OPTIONAL.includes(operation))
  if (checked.ok) return
  const required = Object.keys(completePayloads[operation]).filter(
    (key) => key !== 'source' && (REQUIRED[operation]?.includes(key) ?? true),
  )
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

test('validate does not change the payload', () => {
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
])(
  'findOperation: an event with an unknown name is recognized by its fields %j',
  (fields, operation) => {
    expect(findOperation({ ...fields, event: 'own_name' })).toBe(operation)
    expect(findOperation(fields)).toBe(operation)
  },
)

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
])('findOperation: %j is not the name of an operation', (event) => {
  expect(findOperation({ event })).toBe('viewHomepage')
  expect(findOperation({ event }, new Map(), 'shop_')).toBe('viewHomepage')
})

test('findOperation: a name with or without the prefix of the customer is recognized', () => {
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
  // Without a separator, or with other fields: only the fields decide.
  ['deinitiate_checkout', {}, 'viewHomepage'],
  ['quick_search', { email: '' }, 'sendCustom'],
  ['after_search', {}, 'viewHomepage'],
  ['_'.repeat(100_000), {}, 'viewHomepage'],
])('findOperation: an unknown prefix, %.40s', (event, fields, operation) => {
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
])('findOperation: words in the unknown name of a product line, %.40s', (event, operation) => {
  expect(findOperation({ event, variation: {} })).toBe(operation)
  expect(findOperation({ event: `x_${event}`, variation: {} }, new Map(), 'x_')).toBe(operation)
  // Only for product lines.
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
  // With a field of the named operation it is that operation, so that its issues are reported.
  ['add_to_cart', { email, quantity: 1 }, 'addToCart'],
  ['search', { email, search_term: '' }, 'search'],
  ['set_email', { email, firstname: 'Ana' }, 'setEmail'],
  ['set_email', { email, email_address: email }, 'setEmail'],
  // Without an e-mail address.
  ['search', {}, 'search'],
  ['initiate_checkout', { email: null }, 'initiateCheckout'],
  ['initiate_checkout', { email: ' ' }, 'initiateCheckout'],
  ['initiate_checkout', { email: 7 }, 'initiateCheckout'],
])('findOperation: a usual name with an e-mail address, %s %j', (event, fields, operation) => {
  expect(findOperation({ ...fields, event }, new Map(), 'x_')).toBe(operation)
})

test('findOperation: the customer’s own name with an e-mail address', () => {
  const names = new Map<string, TrackingOperation>([
    ['basket', 'addToCart'],
    ['quiz', 'sendCustom'],
  ])
  expect(findOperation({ event: 'basket', email }, names)).toBe('sendCustom')
  expect(findOperation({ event: 'basket' }, names)).toBe('addToCart')
  expect(findOperation({ event: 'quiz', email }, names)).toBe('sendCustom')
  expect(findOperation({ event: 'quiz', product_id: '1' }, names)).toBe('sendCustom')
})

test('findOperation: the customer’s own names take precedence', () => {
  const names = new Map<string, TrackingOperation>([
    ['basket', 'removeFromCart'],
    ['search', 'viewProduct'],
  ])
  expect(findOperation({ event: 'basket', email: '' }, names)).toBe('removeFromCart')
  expect(findOperation({ event: 'x_basket' }, names, 'x_')).toBe('removeFromCart')
  expect(findOperation({ event: 'search' }, names)).toBe('viewProduct')
  expect(findOperation({ event: 'set_email' }, names)).toBe('setEmail')
})

test('findOperation: only own fields count', () => {
  expect(findOperation(Object.create({ event: 'search', variation: {} }))).toBe('viewHomepage')
  expect(findOperation(JSON.parse('{"__proto__":{"email":"a"}}'))).toBe('viewHomepage')
  expect(findOperation(Object.assign(Object.create(null), { event: 'search' }))).toBe('search')
})

test.each(notObjects)(
  'findOperation: %s counts as a page event, which validate refuses',
  (payload) => {
    expect(findOperation(payload)).toBe('viewHomepage')
  },
)

test('an invalid payload is a ValidationException', () => {
  const checked = validate('viewHomepage', null)
  expect(!checked.ok && checked.error).toBeInstanceOf(ValidationException)
})
