import { expect, test } from 'vitest'
import { validate } from '../../contract/index.ts'
import { RECORD_OPERATIONS } from '../../contract/recordOperations.ts'
import { type Explained, explainProblem } from './explainProblem.ts'
import { FIELD_RULES } from './fieldRules.ts'
import { OPERATION_NAMES } from './operations.ts'
import { type Fault, OTHER } from './problems.ts'
import { countedPath, RECORD_FIELDS } from './recordFields.ts'

const CUSTOMER: Explained = {
  customerId: 'shop',
  trackingKey: 'SHOPKEY1',
  origins: ['https://shop.example', 'https://*.shop.example', 'loopback'],
}
const fault = (given: Partial<Fault>): Fault => ({
  reason: 'refused',
  source: 'gateway',
  operation: '',
  path: '',
  page: '/p/12',
  ...given,
})

test.each<[Partial<Fault>, message: string, fix: string]>([
  [
    { reason: 'invalid', source: 'page', operation: 'addToCart', path: 'variation.sku' },
    'Pages drop events of addToCart before they are sent: variation.sku is missing or not text of 1 to 2,048 characters.',
    'Put data-track-variation-sku on the element that reports it or around it, or pass variation: { id, sku } to the helper. Open the page with ?track_debug=1 to see each event with its faults.',
  ],
  [
    { reason: 'invalid', source: 'page' },
    'Pages drop events before they are sent: no helper has the name that data-track or the call gives.',
    'Correct the name. Open the page with ?track_debug=1 to see each event with its faults.',
  ],
  [
    { operation: 'search', path: 'search_term' },
    'The gateway refuses events of search with 422: search_term is missing or not text of 1 to 2,048 characters.',
    'Put data-track="search" on the form whose field has type="search", name the field with data-track-search-term-from="SELECTOR", or pass search_term to the helper. Do not report an empty search. Open the page with ?track_debug=1 to see each event with its faults.',
  ],
  [
    { operation: 'sendCustomApi', path: 'event', page: '/api/v1/custom_events' },
    'The gateway refuses events of sendCustomApi with 422: event is missing or not text of 1 to 128 characters.',
    'Pass event, or leave it out for the usual name.',
  ],
  [
    { operation: 'saveOrder', path: 'products.*.price', page: '/api/v1/save_order' },
    'The gateway refuses calls of saveOrder with 422: products.*.price is missing or not an amount that can be read exactly in the customer’s currency, such as 1234.5 or "1,234.50".',
    'Correct it in what the shop’s server sends: the answer to the call names the value. Amounts are in the currency of the customer’s settings.',
  ],
  [
    { operation: 'saveOrder', path: 'email_address', page: '/api/v1/save_order' },
    'The gateway refuses calls of saveOrder with 422: email_address is given, but is not an e-mail address.',
    'Correct it in what the shop’s server sends, or leave it out: the answer to the call names the value.',
  ],
  [
    { operation: 'saveOrder', path: 'products.*.quantity', page: '/api/v1/save_order' },
    'The gateway refuses calls of saveOrder with 422: products.*.quantity is missing or not a number from 0 to 999,999,999.',
    'Correct it in what the shop’s server sends: the answer to the call names the value.',
  ],
  [
    { page: '/api/v1/unsubscribed_emails' },
    'The gateway refuses calls of /api/v1/unsubscribed_emails with 422: a field is missing or has a wrong value, or the payload is not an object.',
    'Look at the answer to the call, which names the field.',
  ],
  [
    { operation: 'sendCustomApi', path: '', page: '/api/v1/custom_events' },
    'The gateway refuses events of sendCustomApi with 422: a field is missing or has a wrong value, or the payload is not an object.',
    'Look at the answer to the call, which names the field.',
  ],
  [
    { operation: 'addSubscriber', path: '', page: '/api/v1/add_subscriber' },
    'The gateway refuses calls of addSubscriber with 422: a field is missing or has a wrong value, or the payload is not an object.',
    'Look at the answer to the call, which names the field.',
  ],
  [
    { reason: 'origin', page: 'https://new.example' },
    'Pages of https://new.example are refused with 403, since the customer does not allow this Origin. They keep their events.',
    "If they are pages of the shop, allow it: npx shoptrail customer set shop --origin https://shop.example --origin 'https://*.shop.example' --origin loopback --origin https://new.example",
  ],
  [
    { reason: 'origin', page: 'https://eu.shop.example' },
    'Pages of https://eu.shop.example were refused with 403, since this Origin was not allowed. It is allowed now.',
    'Nothing: the pages send again what they have kept.',
  ],
  [
    { reason: 'wrong_key', path: 'k', page: '/api/v1/custom_events' },
    'Requests to /api/v1/custom_events have a wrong REST key, so they are refused with 401.',
    'If they are of the shop’s server, give it the right key (k). A lost key is replaced with: npx shoptrail customer rotate shop --key rest',
  ],
  [
    { reason: 'wrong_key', path: 'origin', page: '/t/r' },
    'Requests to /t/r have neither an Origin nor a REST key (api_key), so they are refused with 401.',
    'A shop’s server adds its REST key as api_key. A page sends its Origin by itself, unless it is a file or a sandboxed frame.',
  ],
  [
    { reason: 'unknown_key', path: 'OLDKEY12', page: 'https://shop.example' },
    'Pages of https://shop.example use the tracking key OLDKEY12, which no customer has. They track nothing.',
    'Put the customer’s key in the tag and the stub: SHOPKEY1. The page /setup shows both.',
  ],
  [
    { reason: 'unknown_key', path: 'ABCD…', page: 'https://shop.example' },
    'Pages of https://shop.example use the tracking key ABCD…, which no customer has. They track nothing.',
    'If it is the secret REST key, replace that at once: npx shoptrail customer rotate shop --key rest. Put the customer’s key in the tag and the stub: SHOPKEY1. The page /setup shows both.',
  ],
  [
    { reason: 'unknown_key', path: 'SHOPKEY1', page: 'https://shop.example' },
    'Pages of https://shop.example have used the tracking key SHOPKEY1 before it was known. It is known now.',
    'Nothing: the pages send again what they have kept.',
  ],
  [
    { reason: 'too_large', page: '/t/batch' },
    'Requests to /t/batch are larger than the gateway accepts, so they are refused with 413.',
    'Send smaller requests: an event has at most 131,072 bytes and 1,000 values, a batch 1,048,576 bytes, 500 events and 20,000 values.',
  ],
  [
    { reason: 'too_large', operation: 'saveOrder', page: '/api/v1/save_order' },
    'Requests to /api/v1/save_order are larger than the gateway accepts, so they are refused with 413.',
    'Send smaller requests: the answer to the call says how large they may be.',
  ],
  [
    { reason: 'too_large', page: '/api/v1/campaigns/create' },
    'Requests to /api/v1/campaigns/create are larger than the gateway accepts, so they are refused with 413.',
    'Send smaller requests: the answer to the call says how large they may be.',
  ],
])('%j', (given, message, fix) => {
  expect(explainProblem(fault(given), CUSTOMER)).toEqual({ message, fix })
})

const REASONS = [
  'invalid',
  'refused',
  'too_old',
  'outbox_full',
  'origin',
  'wrong_key',
  'too_large',
  'unknown_key',
] as const
const all = REASONS.flatMap((reason) =>
  (['page', 'gateway'] as const).flatMap((source) =>
    ['', ...OPERATION_NAMES, ...RECORD_OPERATIONS].flatMap((operation) =>
      ['', ...Object.keys({ ...FIELD_RULES, ...RECORD_FIELDS })].flatMap((path) =>
        ['/p', OTHER, ''].map((page) => fault({ reason, source, operation, path, page })),
      ),
    ),
  ),
)

test('every problem has whole sentences', () => {
  expect(all.length).toBeGreaterThan(5_000)
  for (const one of all) {
    const { message, fix } = explainProblem(one, CUSTOMER)
    expect(message).toMatch(/^[A-Z].*\.$/)
    expect(fix).toMatch(/^[A-Z]/)
    expect(message + fix).not.toMatch(/undefined|\[object|\.\.|,,/)
  }
})

test('every field that a payload can be wrong in is described', () => {
  for (const operation of OPERATION_NAMES)
    for (const payload of [{}, { variation: {} }]) {
      const checked = validate(operation, payload)
      const paths = checked.ok ? [] : checked.error.issues.map(({ path }) => path)
      expect(paths.length).toBeGreaterThan(0)
      for (const path of paths) expect(Object.keys(FIELD_RULES)).toContain(path)
    }
})

test.each([
  ['saveOrder', 'total_value', 'total_value'],
  ['saveOrder', 'products', 'products'],
  ['saveOrder', 'products.17.price', 'products.*.price'],
  ['saveOrder', 'products.17', 'products.*'],
  ['saveOrder', 'variation.sku', ''],
  ['addSubscriber', 'channels.3', 'channels'],
  ['addSubscriber', 'attributes.Jane Doe', 'attributes'],
  ['addSubscriber', 'attributes.a.b', 'attributes'],
  ['addSubscriber', '__proto__', ''],
  ['addToCart', 'variation.sku', 'variation.sku'],
  ['addToCart', 'products.1.price', ''],
])('a fault of %s in %s is counted under %j', (operation, path, counted) => {
  expect(countedPath(operation, path)).toBe(counted)
})

test('every field that an order or a subscriber can be wrong in is described', () => {
  const wrong = { products: [{}], email: '', birthday: 'x', attributes: [1], total_value: {} }
  const texts = Object.fromEntries(Object.keys(RECORD_FIELDS).map((name) => [name, {}]))
  for (const operation of RECORD_OPERATIONS)
    for (const payload of [{}, wrong, texts]) {
      const checked = validate(operation, payload)
      const paths = checked.ok ? [] : checked.error.issues.map(({ path }) => path)
      expect(paths.length).toBeGreaterThan(0)
      for (const path of paths) expect(countedPath(operation, path)).not.toBe('')
    }
})
