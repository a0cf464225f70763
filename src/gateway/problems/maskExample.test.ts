import fc from 'fast-check'
import { expect, test } from 'vitest'
import { maskExample } from './maskExample.ts'

const mask = (payload: object): unknown => JSON.parse(maskExample({ ...payload }))

test.each<[object, object]>([
  [
    {
      event: 'add_to_cart',
      product_id: 12,
      quantity: 2,
      source: 'theme',
      variation: { id: 7, sku: 'MUG-BLUE' },
    },
    {
      event: 'add_to_cart',
      product_id: 12,
      quantity: 2,
      source: 'theme',
      variation: { id: 7, sku: 'MUG-BLUE' },
    },
  ],
  [
    {
      did: 'd-1',
      email_address: 'jane@mail.example',
      firstname: '',
      lastname: ' ',
      phone: null,
      search_term: 'x',
    },
    {
      did: 'text of 3 characters',
      email_address: 'text of 17 characters',
      firstname: 'empty text',
      lastname: 'white space of 1 character',
      phone: 'null',
      search_term: 'text of 1 character',
    },
  ],
  [
    { email: ['a'], url: { href: 'x' }, http_user_agent: true },
    { email: 'list of 1', url: 'object', http_user_agent: 'boolean' },
  ],
  // Something personal in a harmless field.
  [
    { event: 'jane@mail.example', source: 'Jane Doe of 5 Long Street' },
    { event: 'text of 17 characters', source: 'text of 25 characters' },
  ],
  [
    { event: 'Jane Doe', source: '203.0.113.7', variation: { id: '2001:db8::7' } },
    {
      event: 'text of 8 characters',
      source: 'text of 11 characters',
      variation: { id: 'text of 11 characters' },
    },
  ],
  [
    { event: '+491701234567', source: 'https://shop.example/account/jane' },
    { event: 'text of 13 characters', source: 'text of 33 characters' },
  ],
  [
    { product_id: 'x'.repeat(65), variation: 'jane' },
    { product_id: 'text of 65 characters', variation: 'text of 4 characters' },
  ],
  [{ variation: { id: '1', sku: null, owner: 'jane' } }, { variation: { id: '1', sku: 'null' } }],
  [
    { variation: [], quantity: '2' },
    { variation: 'list of 0', quantity: '2' },
  ],
  // Of an order only products and amounts are shown.
  [
    {
      number: '1042',
      email_address: 'jane@mail.example',
      city: 'Cluj',
      address: '5 Long Street',
      total_value: '12,50',
      tax: 1.5,
      shipping: '0712345678',
      discount_value: '203.0.113.7',
      products: [
        { product_id: '42', price: '1,2345', quantity: 1, owner: 'jane' },
        'jane',
        { price: 'jane' },
        {},
      ],
    },
    {
      number: 'text of 4 characters',
      email_address: 'text of 17 characters',
      city: 'text of 4 characters',
      address: 'text of 13 characters',
      total_value: '12,50',
      tax: 1.5,
      shipping: 'text of 10 characters',
      discount_value: 'text of 11 characters',
      products: [
        { product_id: '42', price: '1,2345', quantity: 1 },
        'text of 4 characters',
        { price: 'text of 4 characters' },
        'and 1 more',
      ],
    },
  ],
  [{ products: { 0: 'jane' } }, { products: 'object' }],
  [
    { email: 'jane@mail.example', attributes: { jane: 'doe' }, channels: ['email'] },
    { email: 'text of 17 characters', attributes: 'object', channels: 'list of 1' },
  ],
  [{ jane_doe: 'jane', 'x@y': 1 }, { '…': 'and 2 further fields' }],
])('%j is shown as %j', (payload, expected) => {
  expect(mask(payload)).toEqual(expected)
})

test('no address is shown, wherever it is, and an example is short', () => {
  const leaf = fc.oneof(
    fc.constant('jane@mail.example'),
    fc.string({ unit: 'binary', maxLength: 5_000 }),
    fc.double(),
    fc.constant(null),
  )
  const name = fc.oneof(
    fc.constantFrom(
      'event',
      'url',
      'variation',
      'email',
      'source',
      'product_id',
      'products',
      'total_value',
      'jane@mail.example',
    ),
    fc.string(),
  )
  const payload = fc.dictionary(
    name,
    fc.oneof(
      leaf,
      fc.array(leaf),
      fc.dictionary(fc.constantFrom('id', 'sku', 'jane@mail.example'), leaf),
    ),
  )
  fc.assert(
    fc.property(payload, (given) => {
      const text = maskExample(given)
      expect(text).not.toContain('@')
      expect(text.length).toBeLessThan(1_500)
    }),
  )
})
