import { expect, test } from 'vitest'
import { findMention } from './addresses.ts'

const ANNA = 'anna@example.org'
const mention = (payload: object, searched = ANNA) => findMention(JSON.stringify(payload), searched)

test.each([
  ['setEmail', { email_address: 'Anna@EXAMPLE.org', firstname: 'Anna' }],
  ['sendCustom', { did: 'd', email: ANNA, event: 'quiz' }],
  ['sendCustomApi', { email: ANNA, event: 'newsletter_click' }],
])('an event of %s gives the address', (_, payload) => {
  expect(mention(payload)).toEqual({ given: ANNA, isCarried: true })
})

test('the address of somebody else is given, and not carried', () => {
  const other = { given: 'bert@example.org', isCarried: false }
  expect(mention({ email_address: 'bert@example.org' })).toEqual(other)
  expect(findMention(JSON.stringify({ email_address: ANNA }))).toEqual({
    given: ANNA,
    isCarried: false,
  })
})

test.each([
  ['plain', 'anna@example.org'],
  ['in a sentence', 'write to Anna@Example.org.'],
  ['in brackets', '<anna@example.org>'],
  ['in a query', 'https://shop.test/?email=anna@example.org&x=1'],
  ['encoded', 'https://shop.test/?email=anna%40example.org'],
  ['encoded, next to a broken escape', 'https://shop.test/?a=%&email=anna%40example.org'],
  ['encoded, with its neighbours, next to a broken escape', '100% %20anna%40example%2Eorg%20'],
  ['between quotes', "'anna@example.org'"],
  ['between quotes in a sentence', "write to 'anna@example.org'"],
  ['in a path', 'https://shop.test/u/anna@example.org/orders'],
  ['as a user', 'https://anna@example.org/'],
])('a text contains the address: %s', (_, text) => {
  expect(mention({ url: text })).toEqual({ given: undefined, isCarried: true })
})

test.each([
  ['a longer local part', 'joanna@example.org'],
  ['a dot before', 'jo.anna@example.org'],
  ['an apostrophe before', "o'anna@example.org"],
  ['an apostrophe behind a letter of two code units', "\u{10400}'anna@example.org"],
  ['a tag', 'anna+shop@example.org'],
  ['a longer domain', 'anna@example.org.test'],
  ['a shorter domain', 'anna@example'],
  ['another domain', 'anna@example.com'],
  ['nothing', 'anna at example.org'],
])('a text does not contain the address: %s', (_, text) => {
  expect(mention({ search_term: text }).isCarried).toBe(false)
})

test('an address of an event is compared as a whole', () => {
  expect(mention({ email: "o'anna@example.org" })).toEqual({
    given: "o'anna@example.org",
    isCarried: false,
  })
  expect(mention({ email: 'x=anna@example.org' }).isCarried).toBe(false)
})

test('domains of other scripts are found in both forms', () => {
  const searched = 'jürgen@xn--mnchen-3ya.example'
  for (const text of ['jürgen@münchen.example', 'JÜRGEN@xn--mnchen-3ya.example'])
    expect(mention({ search_term: text }, searched).isCarried).toBe(true)
})

test('the address is found in every field, the device id and the name too', () => {
  for (const name of ['did', 'event', 'source', 'phone', 'url'])
    expect(mention({ [name]: ANNA }).isCarried).toBe(true)
  expect(mention({ variation: { id: '1', sku: ANNA } }).isCarried).toBe(true)
})

test('a payload that is not JSON has no addresses', () => {
  expect(findMention('{"email_address":"anna@exam', ANNA)).toEqual({
    given: undefined,
    isCarried: false,
  })
})
