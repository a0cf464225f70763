import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { ValidationException } from '../../contract/index.ts'
import type { TrackDropReason } from '../global.d.ts'
import { explain } from './explain.ts'

test('what, where, why, what was seen and what fixes it', () => {
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

test('every fault of a payload', () => {
  const error = new ValidationException([
    { path: 'quantity', message: 'Expected a whole number from 1, received 0' },
    { path: '', message: 'Unreadable' },
  ])
  const said = explain({ operation: 'addToCart', reason: 'invalid', error })
  expect(said).toContain('quantity: Expected a whole number from 1, received 0')
  expect(said).toContain('payload: Unreadable')
})

test("the gateway's words", () => {
  const notice = { operation: 'search', reason: 'refused', status: 403, message: 'Origin' } as const
  expect(explain(notice)).toContain('403 Origin')
})

test('an event that was sent, but not all of it', () => {
  expect(explain({ operation: 'add_to_cart', code: 'ga4-variant' })).toContain('was sent, but')
})

const reasons: readonly TrackDropReason[] = [
  'invalid',
  'duplicate',
  'no_consent',
  'too_old',
  'outbox_full',
  'refused',
]
test.each(reasons)('%s has a reason and a remedy', (reason) => {
  expect(explain({ reason })).toMatch(/why: .+\n {2}fix: /)
})

const circular: { self?: unknown } = {}
circular.self = circular
test.each<[string, unknown, string]>([
  ['long', { text: 'x'.repeat(1000) }, 'at: {"text":"xxx'],
  ['circular', circular, 'at: [object Object]'],
  ['a big integer', 1n, 'at: '],
  ['null', null, 'at: null'],
])('a place that is %s', (_kind, where, expected) => {
  const said = explain({ code: 'order', where })
  expect(said).toContain(expected)
  expect(said.length).toBeLessThan(700)
})

test('every code that a reader or a part tells is explained', () => {
  const folder = `${import.meta.dirname}/../parts`
  const sources = readdirSync(folder)
    .filter((file) => !file.includes('.test.'))
    .map((file) => readFileSync(`${folder}/${file}`, 'utf8'))
  const codes = sources.flatMap((source) => source.match(/(?<=')(ga4|schema)-[\w-]+(?=')/g) ?? [])
  expect(new Set(codes).size).toBeGreaterThan(9)
  for (const code of [...codes, 'order', 'set_phone'])
    expect(explain({ code }), code).toMatch(/why: .+\n {2}fix: /)
})

test('a code that nobody has explained stands as it is', () => {
  expect(explain({ operation: 'search', code: 'unheard-of' })).toContain('(unheard-of)')
})
