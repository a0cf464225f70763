// @vitest-environment happy-dom

import { readdirSync, readFileSync } from 'node:fs'
import type { GenericSchema } from 'valibot'
import { describe, expect, test } from 'vitest'
import { check } from '../../contract/check.ts'
import { describeIssue } from '../../contract/describeIssue.ts'
import { ValidationException } from '../../contract/errors.ts'
import type { TrackDropReason } from '../global.d.ts'
import { schemas } from '../schemas.ts'
import { explain, toText } from './explain.ts'

test('an explanation names the event, its place, the cause, the value and the fix', () => {
  const where = { event: 'add_to_cart', ecommerce: { items: [{ item_id: 'SKU_1' }] } }
  const message = 'item 0: item_id "SKU_1"'
  expect(
    explain({ operation: 'add_to_cart', code: 'ga4-item-id', reason: 'invalid', where, message }),
  ).toBe(
    [
      'track: add_to_cart was not sent (ga4-item-id)',
      '  at: {"event":"add_to_cart","ecommerce":{"items":[{"item_id":"SKU_1"}]}}',
      '  why: The product id of this item is not a positive integer, so no product line was sent.',
      '  seen: item 0: item_id "SKU_1"',
      '  fix: Set ga4.productId (for example {"from": "product_id"}, or a pattern) to where an item holds the shop\'s numeric product id.',
    ].join('\n'),
  )
})

test('every issue of a payload', () => {
  const error = new ValidationException([
    { path: 'quantity', message: 'Expected whole number' },
    { path: 'variation', message: 'Expected object' },
    { path: 'variation.sku', message: 'Expected text 1-2048' },
    { path: '', message: 'Unreadable' },
  ])
  const payload = { quantity: 0, variation: null }
  const text = explain({ operation: 'addToCart', reason: 'invalid', error, payload })
  expect(text).toContain('quantity: Expected a whole number from 1, received 0')
  expect(text).toContain('variation: Expected an object, received null')
  expect(text).toContain(
    'sku: Expected text of 1 to 2048 characters, not blank (a string), received u',
  )
  expect(text).toContain('payload: Unreadable')
})

test("the gateway's message", () => {
  const notice = { operation: 'search', reason: 'refused', status: 422, message: 'No url' } as const
  expect(explain(notice)).toContain('422 No url')
})

test('an event of which a part was sent', () => {
  expect(explain({ operation: 'add_to_cart', code: 'ga4-variant' })).toContain('was sent, but')
})

const reasons: readonly TrackDropReason[] = [
  'invalid',
  'duplicate',
  'no_consent',
  'too_old',
  'outbox_full',
  'refused',
  'ignored',
]
test.each(reasons)('%s has a reason and a fix', (reason) => {
  expect(explain({ reason })).toMatch(/why: .+\n {2}fix: /)
})

const circular: { self?: unknown } = {}
circular.self = circular
test.each<[string, unknown, string]>([
  ['long', { text: 'x'.repeat(1000) }, 'at: {"text":"xxx'],
  ['circular', circular, 'at: [object Object]'],
  ['a big integer', 1n, 'at: '],
  ['null', null, 'at: null'],
])('an element or push that is %s', (_kind, where, expected) => {
  const text = explain({ code: 'order', where })
  expect(text).toContain(expected)
  expect(text.length).toBeLessThan(700)
})

/** Words in quotes on lines where a part emits a notice. More than the codes, so that no code is missed. */
const quoted = (source: string) =>
  [...source.matchAll(/(?:\b(?:drop|refuse|note|notify)\(|\bcode(?::| =)).*/g)].flatMap(([line]) =>
    [...line.matchAll(/'([\w-]+)'/g)].map(([, word = '']) => word),
  )
/** Words in quotes that are not codes. */
const OTHERS = [
  'dropped',
  'held',
  'invalid',
  'no_consent',
  'viewProduct',
  'user_data',
  'purchase',
  'item_id',
]

/** Codes of the inspector itself. */
const OWN = [
  'disabled',
  'prevented',
  'presence',
  'helper',
  'from',
  'attribute',
  'push',
  'order',
  'set_phone',
  'set_phone-kept',
]

test('every code of a part is explained', () => {
  const folder = `${import.meta.dirname}/../parts`
  const sources = readdirSync(folder)
    .filter((file) => !file.includes('.test.'))
    .map((file) => readFileSync(`${folder}/${file}`, 'utf8'))
  const codes = new Set([...sources.flatMap(quoted), ...OWN])
  for (const other of OTHERS) codes.delete(other)
  expect([...codes]).toEqual(
    expect.arrayContaining([
      'schema-json',
      'schema-many',
      'ga4-item-id',
      'ga4-purchase',
      'ga4-variant',
    ]),
  )
  for (const code of codes) expect(explain({ code }), code).toMatch(/why: .+\n {2}fix: /)
})

test.each([
  ['helper', 'addtocart', 'Did you mean addToCart?'],
  ['helper', '', 'viewHomepage, setEmail, viewProduct'],
  ['push', 'add_to_basket', 'Did you mean add_to_cart?'],
  ['push', 'whatever', 'view_category'],
])('for an unknown name (%s %s) the known ones are listed', (code, operation, text) => {
  expect(explain({ code, operation, reason: 'invalid' })).toContain(text)
})

test.each([
  ['order', 'order'],
  ['set_phone', 'set_phone'],
  ['whatever', 'push'],
  ['constructor', 'push'],
  ['addtocart', 'push'],
  ['addToCart', 'invalid'],
])('a push of the name %s has the code %s', (operation, code) => {
  const where = { event: `__sm__${operation}` }
  expect(explain({ operation, where, reason: 'invalid' })).toContain(`was not sent (${code})`)
})

test.each([
  [3, ', not blank (a string), received 3'],
  [undefined, ', not blank (a string), received undefined'],
  [' ', ', not blank, received " "'],
])('for text, the message says that a string is expected, given %s', (search_term, text) => {
  const checked = check(schemas.search, { search_term })
  const error = checked.ok ? undefined : checked.error
  expect(explain({ reason: 'invalid', error, payload: { search_term } })).toContain(
    `search_term: Expected text of 1 to 2048 characters${text}`,
  )
})

test('every issue that the script finds is described in full', () => {
  for (const schema of Object.values<GenericSchema | null>(schemas))
    for (const value of [7, [], {}, { variation: {} }]) {
      const checked = check(schema as GenericSchema, value)
      for (const issue of checked.ok ? [] : checked.error.issues)
        expect(describeIssue(issue, value).message).toMatch(/^Expected (an?|text of) .+, received /)
    }
})

describe('refused', () => {
  const payload = { did: 'd', event: 'search', url: 'https://shop.example/', search_term: 'mug' }
  const refused = { reason: 'refused', key: 'ABC123', message: 'No' } as const

  test('has the event', () => {
    expect(explain({ ...refused, operation: 'search', payload, status: 422 })).toContain(
      'track: search was not sent (refused)\n  event: {"event":"search","search_term":"mug"}',
    )
  })
})

test.each([
  [0, 'content blocker'],
  [308, 'answers with a redirect'],
  [401, 'tracking key ABC123'],
  [403, `npx shoptrail customer set ID --origin ${location.origin}`],
  [403, 'set replaces the list'],
  [404, 'tracking key ABC123'],
  [413, 'proxy'],
  [503, 'Nothing to do, unless it goes on'],
])('events held after %i', (status, remedy) => {
  const text = explain({ reason: 'held', status, key: 'ABC123' })
  expect(text).toMatch(/^track: events wait \(held\)\n {2}why: .+ sent again/)
  expect(text).toContain(remedy)
  if (status) expect(text).toContain(`seen: ${status}\n`)
})

test('an unknown code is shown as it is', () => {
  expect(explain({ operation: 'search', code: 'unheard-of' })).toContain('(unheard-of)')
})

test.each([
  [{ phone: '0722' }, true],
  [{ tmphone: 722 }, true],
  [{ phone: ' ', tmphone: '722' }, true],
  [{ phone: ' ' }, false],
  [{ phone: 0 }, false],
  [{ phone: null }, false],
  [{}, false],
])('set_phone with %j before set_email: the number is kept (%s)', (fields, isKept) => {
  const where = { event: '__sm__set_phone', ...fields }
  const text = explain({ operation: 'set_phone', where, reason: 'invalid' })
  expect(text.includes('set_phone is kept until set_email (set_phone-kept)')).toBe(isKept)
  expect(text.includes('was not sent')).toBe(!isKept)
})

test('a form is named by its own id, also if one of its fields is named id', () => {
  document.body.innerHTML = '<form id="buy"><input name="id"></form>'
  expect(toText(document.querySelector('form'))).toBe('<form id="buy">')
})
