import { expect, test } from 'vitest'
import { completePayloads } from '../test/payloads.ts'
import { validate } from './index.ts'
import { MAX_ATTRIBUTES } from './serverFields.ts'
import { MAX_CHANNELS, MAX_TAGS } from './subscribers.ts'

const email = 'ana@shop.example'

/** The paths of the issues, or null if the payload is valid. */
const pathsOf = (checked: ReturnType<typeof validate>) =>
  checked.ok ? null : checked.error.issues.map(({ path }) => path)

test('optional fields that are missing, null or blank are left out', () => {
  const names = Object.keys(completePayloads.addSubscriber)
  for (const none of [undefined, null, '', ' ', false]) {
    const blank = Object.fromEntries(names.map((name) => [name, none]))
    for (const operation of ['addSubscriber', 'removeSubscriber'] as const)
      expect(validate(operation, { ...blank, email: ` ${email} ` })).toEqual({
        ok: true,
        payload: { email },
      })
  }
})

test.each<[given: unknown, read: string | undefined]>([
  ['2027-02-28', '2027-02-28'],
  [' 2027-02-28 ', '2027-02-28'],
  [1_798_761_600, '1798761600'],
  ['1798761600', '1798761600'],
  [0, '0'],
  [undefined, undefined],
  [null, undefined],
  [' ', undefined],
])('unsubscribedEmails: %j', (given, read) => {
  for (const field of ['date_from', 'date_to'])
    expect(validate('unsubscribedEmails', { [field]: given })).toEqual({
      ok: true,
      payload: read === undefined ? {} : { [field]: read },
    })
})

test.each([
  ...['2027-02-30', '28.02.2027', '2027-02-28T00:00:00Z', 'yesterday', '1e9', '-1'],
  ...['1798761600000', -1, 1.5, 1_798_761_600_000, Number.NaN, true, new Date(0), ['2027-01-01']],
])('unsubscribedEmails refuses %j', (given) => {
  for (const field of ['date_from', 'date_to'])
    expect(pathsOf(validate('unsubscribedEmails', { [field]: given }))).toEqual([field])
})

test.each<[field: string, given: unknown, read: unknown]>([
  ['name', 'Ana Pop', 'Ana Pop'],
  ['phone', 720_000_000, '720000000'],
  ['name', '<b>Ana</b>', '<b>Ana</b>'],
  ['phone', 'call the office', 'call the office'],
  ['birthday', '2000-02-29', '2000-02-29'],
  ['birthday', ' 2000-02-29 ', '2000-02-29'],
  // As databases of shops give dates, with the date that was never set.
  ['birthday', '2000-02-29 00:00:00', '2000-02-29'],
  ['birthday', '0000-00-00', undefined],
  // As forms have false. Where it may be a value, it is one.
  ['birthday', '0', undefined],
  ['attributes', '0', undefined],
  ['name', '0', '0'],
  ['channels', '0', ['0']],
  ['birthday', '0000-00-00 00:00:00', undefined],
  ['add_tags', ['a', 'b'], ['a', 'b']],
  ['add_tags', [' a ', '', 'b', null, 'a', 7], ['a', 'b', '7']],
  ['add_tags', 'a, b,,a , c', ['a', 'b', 'c']],
  ['add_tags', { 0: 'a', 4: 'b' }, ['a', 'b']],
  ['add_tags', [], undefined],
  ['add_tags', {}, undefined],
  ['add_tags', ' , ', undefined],
  ['add_tags', 2027, ['2027']],
  ['channels', 'email', ['email']],
  ['channels', 'email,sms', ['email', 'sms']],
  ['channels', ['email', 'sms'], ['email', 'sms']],
  ['channels', Array(MAX_CHANNELS).fill('sms'), ['sms']],
  ['channels', {}, undefined],
  ['attributes', { b: '1', a: 2, c: true, d: null, e: ' ' }, { a: 2, b: '1', c: true }],
  ['attributes', { a: false }, { a: false }],
  ['attributes', [], undefined],
  ['attributes', {}, undefined],
  ['attributes', { constructor: 'x', 'a.b': 'y' }, { 'a.b': 'y', constructor: 'x' }],
])('addSubscriber: %s of %j', (field, given, read) => {
  const checked = validate('addSubscriber', { email, [field]: given })
  expect(checked).toEqual({
    ok: true,
    payload: read === undefined ? { email } : { email, [field]: read },
  })
})

test.each<[field: string, invalid: unknown, path?: string]>([
  ['email', ''],
  ['email', null],
  ['email', 'ana'],
  ['email', 7],
  ['email', `${'x'.repeat(3_000)}@shop.example`],
  ['name', {}],
  ['country', 'x'.repeat(2_049)],
  ['birthday', '1990-02-30'],
  ['birthday', '0000-02-30'],
  ['birthday', '1990-00-00'],
  ['birthday', '28.02.1990'],
  ['birthday', '1990-02-28 12:00:00'],
  ['birthday', `1990-02-28${' '.repeat(3_000)}`],
  ['birthday', '1990-02-28T00:00:00Z'],
  ['birthday', 19_900_228],
  ['add_tags', Array(MAX_TAGS + 1).fill('a')],
  ['add_tags', 'a,'.repeat(MAX_TAGS)],
  ['add_tags', 'x'.repeat(129)],
  ['add_tags', 'x'.repeat(3_000)],
  ['add_tags', ['a', 'x'.repeat(129)], 'add_tags.1'],
  ['add_tags', ['a', ['b']], 'add_tags.1'],
  ['add_tags', [1.5], 'add_tags.0'],
  ['add_tags', { 3: 'a', 9: [] }, 'add_tags.9'],
  ['add_tags', { a: 'b' }],
  ['add_tags', 7.5],
  ['add_tags', true],
  ['channels', Array(MAX_CHANNELS + 1).fill('sms')],
  ['channels', [{}], 'channels.0'],
  ['attributes', 'size'],
  ['attributes', ['M']],
  ['attributes', { '': 'x' }],
  ['attributes', { ['x'.repeat(129)]: 'x' }],
  ['attributes', JSON.parse('{"__proto__":"x"}')],
  ['attributes', { size: ['M'] }, 'attributes.size'],
  ['attributes', { size: {} }, 'attributes.size'],
  ['attributes', { size: 'x'.repeat(2_049) }, 'attributes.size'],
  ['attributes', { size: Number.NaN }, 'attributes.size'],
  ['attributes', Object.fromEntries(Array.from({ length: MAX_ATTRIBUTES + 1 }, (_, n) => [n, n]))],
])('addSubscriber: %s is not %j', (field, invalid, path = field) => {
  expect(pathsOf(validate('addSubscriber', { email, [field]: invalid }))).toEqual([path])
})

test('attributes in another order are the same JSON', () => {
  const json = (attributes: object) =>
    JSON.stringify(validate('addSubscriber', { email, attributes }))
  expect(json({ size: 'M', club: true, 7: 1 })).toBe(json({ 7: 1, club: true, size: 'M' }))
})
