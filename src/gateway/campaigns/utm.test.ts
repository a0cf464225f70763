import fc from 'fast-check'
import { expect, test } from 'vitest'
import { utmOf } from './utm.ts'

const utm = (utm_campaign = '', utm_medium = '', utm_source = '') => ({
  utm_campaign,
  utm_medium,
  utm_source,
})

test.each([
  ['https://shop.test/?utm_campaign=a&utm_medium=email&utm_source=news', utm('a', 'email', 'news')],
  ['http://shop.test/p/1?x=1&utm_source=news&utm_campaign=a', utm('a', '', 'news')],
  ['https://shop.test/?utm_campaign=a&utm_campaign=b', utm('a')],
  // The first value counts, also an empty one.
  ['https://shop.test/?utm_campaign=&utm_campaign=b&utm_source=s', utm('', '', 's')],
  ['https://shop.test/?utm_campaign=&utm_campaign=b', undefined],
  ['https://shop.test/?utm_campaign=spring+sale', utm('spring sale')],
  ['https://shop.test/?utm_campaign=spring%20sale', utm('spring sale')],
  ['https://shop.test/?utm_campaign=1%2B1', utm('1+1')],
  ['https://shop.test/?utm_campaign=%C8%99apte%20%E6%BC%A2', utm('șapte 漢')],
  ['https://shop.test/?utm_campaign=șapte', utm('șapte')],
  ['https://shop.test/?utm_campaign=50%', utm('50%')],
  ['https://shop.test/?utm%5Fcampaign=a', utm('a')],
  ['https://shop.test/?utm_campaign=A', utm('A')],
  ['https://shop.test/?UTM_CAMPAIGN=a', undefined],
  ['https://shop.test/?utm_campaign=%20', utm(' ')],
  ['https://shop.test/?utm_campaign', undefined],
  ['https://shop.test/?utm_term=a&utm_content=b', undefined],
  ['https://shop.test/#?utm_campaign=a', undefined],
  ['https://shop.test/#utm_campaign=a', undefined],
  ['https://shop.test/utm_campaign=a', undefined],
  ['https://shop.test/', undefined],
  ['HTTPS:shop.test?utm_campaign=a', utm('a')],
  ['https://shop.test/??utm_campaign=a&utm_source=s', utm('', '', 's')],
  ['ht\ntps://shop.test/\t?ut\rm_campaign=a\nb', utm('ab')],
  ['https://shop.test?a=#b?utm_campaign=a', undefined],
  // The contract has checked the host before an event is stored, so it is not parsed again.
  ['https://shop test]/?utm_campaign=a', utm('a')],
  ['data:,?utm_campaign=a', undefined],
  ['not an address?utm_campaign=a', undefined],
  ['', undefined],
  [undefined, undefined],
  [null, undefined],
  [['https://shop.test/?utm_campaign=a'], undefined],
])('%s', (url, expected) => {
  expect(utmOf(url)).toEqual(expected)
})

test('an address above the limit of the contract has no utm values, one of the longest has', () => {
  const withLength = (length: number) => 'https://shop.test/?utm_campaign=a&b='.padEnd(length, 'b')
  expect(utmOf(withLength(8_192))).toEqual(utm('a'))
  expect(utmOf(`https://shop.test/?utm_campaign=${'😀'.repeat(8_160)}`)).toEqual(
    utm('😀'.repeat(8_160)),
  )
  expect(utmOf(withLength(16_385))).toBe(undefined)
})

const piece = fc.oneof(
  fc.constantFrom(
    ...[
      'utm_campaign=',
      'utm_medium=',
      'utm_source=',
      'a',
      '?',
      '#',
      '&',
      '=',
      '+',
      '%2B',
      '%',
      '/',
    ],
    ...[
      '\\',
      '@',
      ':',
      "'",
      '"',
      '<',
      '\t',
      '\n',
      '\r',
      ' ',
      'ș',
      '\ud800',
      '%75tm_campaign=b',
      '%C8',
    ],
  ),
  fc.string({ maxLength: 3, unit: 'grapheme' }),
)

test.each([' %C8.', '\u00a0%C8', 'ă%', '\ud800%ff', '\x7f%e2'])(
  'an invalid percent sign next to %j is decoded like by the platform',
  (text) => {
    const url = `https://shop.test/?utm_campaign=${text}.`
    expect(utmOf(url)?.utm_campaign).toBe(new URL(url).searchParams.get('utm_campaign'))
  },
)

test('the query is the one that the platform finds', () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const url = `https://shop.test/${pieces.join('')}.`
      const query = new URL(url).searchParams
      const [campaign, medium, source] = ['utm_campaign', 'utm_medium', 'utm_source'].map(
        (name) => query.get(name) ?? '',
      )
      const expected = campaign || medium || source ? utm(campaign, medium, source) : undefined
      expect(utmOf(url)).toEqual(expected)
    }),
    { numRuns: 2_000 },
  )
})
