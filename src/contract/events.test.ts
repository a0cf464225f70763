import { afterEach, expect, test } from 'vitest'
import { completePayloads } from '../test/payloads.ts'
import { check } from './check.ts'
import { EVENT_NAMES, eventNameOf } from './eventNames.ts'
import { createEventSchemas } from './events.ts'
import { agent, optionalAgent, optionalText, pageUrl, text, url } from './fields.ts'
import type { TrackingOperation } from './payloads.ts'

/* The page form, as the script uses it: `check` without `validate` around it. */

const page = createEventSchemas(pageUrl, optionalAgent, optionalText)
const full = createEventSchemas(url, agent, text)
const names = Object.keys(EVENT_NAMES) as readonly TrackingOperation[]

const withoutAddress = (operation: TrackingOperation) => {
  const { remote_addr: _, ...payload } = completePayloads[operation]
  return payload
}

afterEach(() => {
  Reflect.deleteProperty(Object.prototype, 'extend')
  Reflect.deleteProperty(Object.prototype, 'source')
})

test.each(names)('%s: eventNameOf agrees with the list', (operation) => {
  expect(eventNameOf(operation)).toBe(EVENT_NAMES[operation])
})

test('there is a schema for each tracking operation', () => {
  expect(Object.keys(page).sort()).toEqual([...names].sort())
})

test.each(names)('%s: remote_addr is optional in the page form only', (operation) => {
  const payload = withoutAddress(operation)
  expect(check(page[operation], payload)).toEqual({ ok: true, payload })
  const checked = check(full[operation], payload)
  expect(!checked.ok && checked.error.issues.map(({ path }) => path)).toEqual(['remote_addr'])
})

test.each(names)('%s: remote_addr given by a page is sent', (operation) => {
  const payload = completePayloads[operation]
  expect(check(page[operation], payload)).toEqual({ ok: true, payload })
  for (const remote_addr of [7, {}, ['203.0.113.10']])
    expect(check(page[operation], { ...payload, remote_addr }).ok).toBe(false)
})

test.each([null, undefined])('remote_addr and source of %s are dropped', (none) => {
  const { source: _, ...payload } = withoutAddress('viewHomepage')
  const given = { ...payload, remote_addr: none, source: none }
  expect(check(page.viewHomepage, given)).toEqual({ ok: true, payload })
})

test.each(names)('%s: a page that extends Object.prototype changes nothing', (operation) => {
  Object.assign(Object.prototype, { extend: () => {}, source: 'POLLUTED' })
  const { source: _, ...payload } = withoutAddress(operation)
  const checked = check(page[operation], Object.assign(Object.create(null), payload))
  expect(checked.ok).toBe(true)
  expect(JSON.stringify(checked)).not.toContain('POLLUTED')
})

test.each<[operation: TrackingOperation, field: string, valid: unknown[], invalid: unknown[]]>([
  ['viewProduct', 'product_id', ['42', '0', 'MUG BL'], [42, '', ' ', null]],
  ['search', 'search_term', ['0', 'false', ' lamp '], [0, '', '\t', null]],
  ['setEmail', 'firstname', ['', ' ', 'Ana'], [null, 0, undefined]],
  ['setEmail', 'lastname', ['', 'Pop'], [null, []]],
  ['setEmail', 'phone', ['', '0720'], [720, null]],
  ['addToCart', 'quantity', [1, 2 ** 53 - 1], [0, -0, -1, 1.5, 2 ** 53, '1', Number.NaN, 1n, true]],
  ['addToCart', 'variation', [{ id: '1', sku: 's' }], [null, {}, { id: 1, sku: 's' }, 'id']],
  ['sendCustom', 'event', ['quiz'], ['', null, 5]],
])('%s: %s', (operation, field, valid, invalid) => {
  const payload = completePayloads[operation]
  for (const value of valid)
    expect(check(page[operation], { ...payload, [field]: value }).ok).toBe(true)
  for (const value of invalid)
    expect(check(page[operation], { ...payload, [field]: value }).ok, `${value}`).toBe(false)
})
