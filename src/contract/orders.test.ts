import fc from 'fast-check'
import { expect, test } from 'vitest'
import { completePayloads } from '../test/payloads.ts'
import { type Order, type Payload, toStoredOrder, validate } from './index.ts'
import { MAX_PRODUCTS } from './orders.ts'

const order = completePayloads.saveOrder
const minimal = { number: '7', total_value: '10.00', products: [] }
const aProduct = { product_id: '42', price: '5.00', quantity: 2 }

/** The paths of the issues, or null if the payload is valid. */
const pathsOf = (checked: ReturnType<typeof validate>) =>
  checked.ok ? null : checked.error.issues.map(({ path }) => path)

const read = (payload: unknown): Payload<'saveOrder'> => {
  const checked = validate('saveOrder', payload)
  if (!checked.ok) throw checked.error
  return checked.payload
}

const store = (payload: unknown, currency = 'EUR') => {
  const stored = toStoredOrder(read(payload), currency)
  if (!stored.ok) throw stored.error
  return stored.payload
}

test('an order is stored complete, as text and as minor units', () => {
  expect(store(order, 'RON')).toEqual({
    ...order,
    discount_value: '-5.00',
    shipping: '15.00',
    tax: '19.99',
    total_value: '1234.50',
    products: [
      { ...order.products[0], price: '617.25', price_minor: 61_725 },
      { ...order.products[1], price: '0.00', price_minor: 0 },
    ],
    currency: 'RON',
    minor: { discount_value: -500, shipping: 1_500, tax: 1_999, total_value: 123_450 },
  })
})

test('what is missing is stored as empty text and as zero', () => {
  const expected = {
    number: '7',
    email_address: '',
    phone: '',
    firstname: '',
    lastname: '',
    city: '',
    county: '',
    address: '',
    discount_value: '0.00',
    discount_code: '',
    shipping: '0.00',
    tax: '0.00',
    total_value: '10.00',
    products: [],
    currency: 'EUR',
    minor: { discount_value: 0, shipping: 0, tax: 0, total_value: 1_000 },
  }
  const absent = Object.fromEntries(
    Object.keys(order).map((field) => [field, null] as [string, unknown]),
  )
  const blank = Object.fromEntries(Object.keys(order).map((field) => [field, ' ']))
  // Many functions of PHP return false for what there is not.
  const none = Object.fromEntries(Object.keys(order).map((field) => [field, false]))
  for (const others of [{}, absent, blank, none])
    expect(store({ ...others, ...minimal })).toEqual(expected)
})

test('equal orders are equal as JSON, in the shapes of forms and of JSON', () => {
  const asText = {
    products: {
      0: { variation_sku: 'TEE-S', quantity: ' 2.0000', price: '617.2500', product_id: ' 42 ' },
      2: { product_id: 43, price: '0', quantity: '1.5', variation_sku: 'MUG' },
    },
    total_value: ' 1234.5 ',
    tax: '19.99\n',
    shipping: '15.0000',
    discount_value: -5,
    discount_code: order.discount_code,
    address: order.address,
    county: order.county,
    city: order.city,
    lastname: order.lastname,
    firstname: order.firstname,
    phone: order.phone,
    email_address: ` ${order.email_address}\n`,
    number: 1001,
  }
  expect(JSON.stringify(store(asText))).toBe(JSON.stringify(store(order)))
})

test('an order as it is stored may be sent and stored again', () => {
  const stored = store(order)
  expect(store(stored)).toEqual(stored)
})

test.each<[field: keyof Order, valid: readonly unknown[], invalid: readonly unknown[]]>([
  [
    'number',
    [1, 0, '1', '#A-7/2026', 'ÎN-7', 'x'.repeat(128), 2 ** 53 - 1],
    ['', ' ', 1.5, 2 ** 53, Number.NaN, true, [], {}, null, 'x'.repeat(129), '\ud800', 7n],
  ],
  [
    'email_address',
    ['', ' ', null, undefined, false, '0', 'ana@shop.example', ' ana@shop.example '],
    ['ana', 'ana@shop', '1', '00', 7, [], 'a b@shop.example', `${'x'.repeat(3_000)}@shop.example`],
  ],
  [
    'phone',
    ['', null, '0720', 'call the office', '+40 (720) 0-0', 720_000_000, 'x'.repeat(2_048)],
    [true, [], {}, 'x'.repeat(2_049), 1e21, Number.NaN],
  ],
  ['firstname', ['Ana', '', null, false, '<b>Ana</b>'], [[], {}, true]],
  ['address', ['Lalelelor 7', 7, '', 1.5], [[], 'x'.repeat(2_049), Number.POSITIVE_INFINITY]],
  ['discount_code', ['', 'SPRING', 2026, 0.5], [{}]],
  [
    'discount_value',
    ['', null, false, 0, '-5.00', -5, '1,000.00', ' 5 '],
    ['5%', true, [], '1,00'],
  ],
  ['shipping', ['', 0, 15, '15'], ['free', {}, Number.POSITIVE_INFINITY]],
  ['tax', [undefined, '19.99'], ['19,99']],
  [
    'total_value',
    [0, '0', '10.00', -10, '1,234.50', ' 10.00 '],
    ['', null, undefined, false, 'x', [], Number.NaN, '1 000'],
  ],
  [
    'products',
    [[], {}, [aProduct], { 0: aProduct }, { 3: aProduct, 9: aProduct }, Array(500).fill(aProduct)],
    [null, undefined, '', 'MUG', 7, { a: aProduct }, { 0: aProduct, a: aProduct }],
  ],
  ['products', [], [Array(MAX_PRODUCTS + 1).fill(aProduct)]],
])('saveOrder: %s', (field, valid, invalid) => {
  for (const value of valid)
    expect(pathsOf(validate('saveOrder', { ...minimal, [field]: value }))).toBeNull()
  for (const value of invalid)
    expect(pathsOf(validate('saveOrder', { ...minimal, [field]: value })), `${value}`).toEqual([
      field,
    ])
})

test.each<[field: string, valid: readonly unknown[], invalid: readonly unknown[]]>([
  ['product_id', ['42', 42, 'MUG-BL', 0], ['', ' ', null, undefined, [], 4.5, 'x'.repeat(129)]],
  ['price', [0, '0', '5.00', '-5', 5.5], ['', null, undefined, '5,00', {}]],
  [
    'quantity',
    [0, 1, 1.5, '1', '1.5', '2.0000', '007', 999_999_999, '999999999.999999', ' 1 ', '2.50000000'],
    [
      '',
      null,
      undefined,
      -1,
      '-1',
      '1e3',
      '1 0',
      '1,000',
      1e9,
      Number.NaN,
      '1.1234567',
      '1.',
      true,
    ],
  ],
  [
    'variation_sku',
    ['', null, undefined, false, 'MUG', 7, 12.5],
    [[], {}, 'x'.repeat(2_049), true],
  ],
])('saveOrder: %s of a product', (field, valid, invalid) => {
  const withProduct = (value: unknown) => ({
    ...minimal,
    products: [aProduct, { ...aProduct, [field]: value }],
  })
  for (const value of valid) expect(pathsOf(validate('saveOrder', withProduct(value)))).toBeNull()
  for (const value of invalid)
    expect(pathsOf(validate('saveOrder', withProduct(value))), `${value}`).toEqual([
      `products.1.${field}`,
    ])
})

test('a product that is not an object is one issue', () => {
  for (const product of [null, undefined, 'MUG', 7, [], () => 1])
    expect(pathsOf(validate('saveOrder', { ...minimal, products: [aProduct, product] }))).toEqual([
      'products.1',
    ])
})

test('an issue of a list that is an object has the name and the value that were sent', () => {
  const products = { 7: aProduct, 12: { ...aProduct, price: '1,2345' }, 40: 'MUG' }
  const checked = validate('saveOrder', { ...minimal, products })
  expect(checked.ok || checked.error.issues).toEqual([
    {
      path: 'products.12.price',
      message: 'Expected an amount such as 1234.5 or 1,234.50, received "1,2345"',
    },
    { path: 'products.40', message: 'Expected an object, received text of 3 characters' },
  ])
  const order = read({ ...minimal, products: [aProduct, { ...aProduct, price: '0.001' }] })
  const stored = toStoredOrder(order, 'EUR', ['7', '12'])
  expect(!stored.ok && stored.error.message).toMatch(/^products\.12\.price: .* received "0\.001"$/)
})

test('a long list is refused before it is read', () => {
  const products = new Array(2 ** 32 - 1)
  expect(pathsOf(validate('saveOrder', { ...minimal, products }))).toEqual(['products'])
})

test('an element that only the prototype has is none', () => {
  const products: unknown[] = Object.setPrototypeOf([], [aProduct, aProduct])
  products.length = 1
  expect(pathsOf(validate('saveOrder', { ...minimal, products }))).toEqual(['products.0'])
})

test('of many faulty products the first twenty are reported', () => {
  const products = Array(MAX_PRODUCTS).fill({ ...aProduct, price: 'x', quantity: 'x' })
  const paths = pathsOf(validate('saveOrder', { ...minimal, products }))
  expect(paths).toHaveLength(40)
  expect(paths?.at(-1)).toBe('products.19.quantity')
})

test.each([
  ['JPY', { total_value: '1000.50' }, ['total_value']],
  ['JPY', { total_value: '1,000.00', shipping: 5 }, null],
  ['EUR', { total_value: 10.005 }, ['total_value']],
  ['KWD', { total_value: 10.005 }, null],
  ['KWD', { total_value: '1,234' }, ['total_value']],
  ['EUR', { total_value: '1,234' }, null],
  ['EUR', { total_value: 1e15 }, ['total_value']],
  ['RSD', { total_value: '1,234.50' }, null],
  [
    'EUR',
    { discount_value: '0.001', shipping: '0.001', tax: '0.001' },
    ['discount_value', 'shipping', 'tax'],
  ],
  ['EUR', { products: [aProduct, { ...aProduct, price: '3.3333' }] }, ['products.1.price']],
] as const)('amounts in %s: %j', (currency, fields, paths) => {
  const stored = toStoredOrder(read({ ...minimal, ...fields }), currency)
  expect(stored.ok ? null : stored.error.issues.map(({ path }) => path)).toEqual(paths)
})

/** Values of a field that are often valid, and any others. */
const values = fc.oneof(
  fc.constantFrom<unknown>('', ' ', null, undefined, 'Ana', 'ana@shop.example', '1,234.50', '-5'),
  fc.integer({ min: -1_000, max: 1_000_000 }),
  fc.integer({ min: -99_999, max: 99_999 }).map((cents) => cents / 100),
  { weight: 1, arbitrary: fc.anything({ maxDepth: 1 }) },
)
const text = fc.string({ minLength: 1, maxLength: 5 })
const anyProducts = fc.array(
  fc.record({ product_id: values, price: values, quantity: values, variation_sku: values }),
  { maxLength: 3 },
)
const anyOrders = fc.record(
  {
    ...Object.fromEntries(Object.keys(order).map((field) => [field, values])),
    number: fc.oneof(text, fc.nat(), values),
    total_value: values,
    products: fc.oneof(
      anyProducts,
      fc.constant([aProduct]),
      fc.dictionary(fc.constantFrom('0', '1', 'a', '__proto__'), fc.constant(aProduct)),
      values,
    ),
  },
  { requiredKeys: ['number', 'total_value'] },
)

test('no order makes the contract throw, and a stored order is stored again as the same', () => {
  const seen = new Set<boolean>()
  fc.assert(
    fc.property(anyOrders, fc.constantFrom('EUR', 'JPY', 'KWD'), (given, currency) => {
      const checked = validate('saveOrder', given)
      const stored = checked.ok ? toStoredOrder(checked.payload, currency) : checked
      seen.add(stored.ok)
      if (!stored.ok) {
        for (const { path, message } of stored.error.issues)
          expect([path, message]).toEqual([
            expect.stringMatching(/^\w+(\.\d+(\.\w+)?)?$/),
            expect.stringMatching(/^Expected .+, received /s),
          ])
        return
      }
      const json = JSON.stringify(stored.payload)
      expect(JSON.stringify(store(JSON.parse(json), currency))).toBe(json)
    }),
    // Random orders are rarely valid.
    { numRuns: 2_000, examples: [[order, 'EUR']] },
  )
  expect(seen.size).toBe(2)
})

test('an issue of an amount names the currency and the amount', () => {
  const stored = toStoredOrder(read({ ...minimal, total_value: '10.005' }), 'EUR')
  expect(!stored.ok && stored.error.message).toBe(
    'total_value: Expected an amount of EUR with at most 2 decimals, up to 90071992547409.91, received "10.005"',
  )
  const many = Array(MAX_PRODUCTS).fill({ ...aProduct, price: '0.001' })
  const long = toStoredOrder(read({ ...minimal, products: many }), 'EUR')
  expect(!long.ok && long.error.issues).toHaveLength(20)
})

test.each<[field: string, valid: readonly unknown[], invalid: readonly unknown[]]>([
  ['order_number', ['1001', 1001, ' 7 '], ['', null, undefined, 1.5, [], '\udc00']],
  [
    'order_status',
    ['completed', 'wc-refunded', 'Livrată', '発送済み', 'În curs de livrare', 5, 'x'.repeat(128)],
    ['', ' ', null, undefined, [], {}, 'x'.repeat(129), 'a\ud800'],
  ],
])('updateOrderStatus: %s', (field, valid, invalid) => {
  const status = completePayloads.updateOrderStatus
  for (const value of valid)
    expect(validate('updateOrderStatus', { ...status, [field]: value })).toEqual({
      ok: true,
      payload: { ...status, [field]: `${value}`.trim() },
    })
  for (const value of invalid)
    expect(pathsOf(validate('updateOrderStatus', { ...status, [field]: value }))).toEqual([field])
})
