import fc from 'fast-check'
import { expect, test } from 'vitest'
import { REPORTED_REASONS } from '../../contract/problems.ts'
import { FIELD_RULES } from './fieldRules.ts'
import { OPERATIONS } from './operations.ts'
import { readPageReport } from './pageReport.ts'

const encode = (report: unknown): string => encodeURIComponent(JSON.stringify(report))

test.each<[Record<string, unknown>, unknown[]]>([
  [
    { 'invalid,addToCart,variation.sku,/p/12': 3 },
    [['invalid', 'addToCart', 'variation.sku', '/p/12', 3]],
  ],
  [{ 'too_old,,,/': 1 }, [['too_old', '', '', '/', 1]]],
  [{ 'outbox_full,search,,/a,b,c': 2 }, [['outbox_full', 'search', '', '/a,b,c', 2]]],
  [
    { 'refused,sendCustom,email,/quiz?mail=x': 1 },
    [['refused', 'sendCustom', 'email', '/quiz', 1]],
  ],
  [
    { 'invalid,search,search_term,/me/jane%40mail.example': 1 },
    [['invalid', 'search', 'search_term', '/me/*', 1]],
  ],
  // Names that the contract does not have are not kept.
  [{ 'invalid,jane,doe,/': 1 }, [['invalid', '', '', '/', 1]]],
  [{ 'invalid,toString,constructor,/': 1 }, [['invalid', '', '', '/', 1]]],
  [{ 'no_consent,search,,/': 1, 'jane,,,/': 1, invalid: 1, 'invalid,search': 1 }, []],
  [{ 'invalid,,,/': 5_000_000 }, [['invalid', '', '', '/', 1_000]]],
  [
    {
      'invalid,,,/a': 0,
      'invalid,,,/b': -1,
      'invalid,,,/c': 1.5,
      'invalid,,,/d': '2',
      'invalid,,,/e': null,
    },
    [],
  ],
  [JSON.parse('{"__proto__":{"invalid,,,/":1}}'), []],
])('the report %j', (report, expected) => {
  const read = readPageReport(encode(report))
  expect(
    read.map(({ reason, operation, path, page, count }) => [reason, operation, path, page, count]),
  ).toEqual(expected)
})

const LINE = 'invalid,search,search_term,/find'
test.each<[string[], unknown[]]>([
  [
    [LINE, 'too_old,,,/a,b', LINE],
    [
      ['invalid', 'search', 'search_term', '/find', 2],
      ['too_old', '', '', '/a,b', 1],
    ],
  ],
  [
    ['', LINE, 'no_consent,search,,/', 'invalid,search'],
    [['invalid', 'search', 'search_term', '/find', 1]],
  ],
  // The last line may have been cut.
  [
    [...new Array<string>(50).fill(LINE).join('\n').slice(0, 1_500).split('\n')],
    [['invalid', 'search', 'search_term', '/find', 45]],
  ],
  [
    [`invalid,,,/${'x/'.repeat(800)}`.slice(0, 1_500)],
    [['invalid', '', '', expect.stringMatching(/^\/x\/.*…$/), 1]],
  ],
])('the lines %j', (lines, expected) => {
  const read = readPageReport(encodeURIComponent(lines.join('\n')))
  expect(
    read.map(({ reason, operation, path, page, count }) => [reason, operation, path, page, count]),
  ).toEqual(expected)
})

test.each([
  ['', 'empty'],
  ['%', 'not encoded'],
  ['%E4%E4', 'no UTF-8'],
  ['{', 'no JSON'],
  [encode([1]), 'a list'],
  [encode('text'), 'a text'],
  ['null', 'null'],
  [encode({ [`invalid,,,/${'x'.repeat(7_000)}`]: 1 }), 'too long'],
])('%j counts nothing: %s', (encoded) => {
  expect(readPageReport(encoded)).toEqual([])
})

test('a report counts at most 40 entries', () => {
  const report = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`invalid,,,/${i}`, 1]))
  expect(readPageReport(encode(report))).toHaveLength(40)
})

test('whatever is sent, only names of the contract and bounded paths are counted', () => {
  const part = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom(...REPORTED_REASONS, ...OPERATIONS, ...Object.keys(FIELD_RULES)),
  )
  const key = fc.array(part, { maxLength: 6 }).map((parts) => parts.join(','))
  const report = fc.dictionary(key, fc.oneof(fc.nat(), fc.anything()), { maxKeys: 60 })
  const text = fc.oneof(
    fc.array(key).map((keys) => keys.join('\n')),
    report.map((value) => JSON.stringify(value) ?? ''),
    fc.json(),
    fc.string({ unit: 'binary' }),
  )
  fc.assert(
    fc.property(text, (sent) => {
      for (const { reason, source, operation, path, page, count } of readPageReport(toUri(sent))) {
        expect(REPORTED_REASONS).toContain(reason)
        expect(source).toBe('page')
        expect(operation === '' || OPERATIONS.has(operation)).toBe(true)
        expect(path === '' || Object.hasOwn(FIELD_RULES, path)).toBe(true)
        expect(page.length).toBeLessThan(125)
        expect(page).not.toMatch(/[@?#]/)
        expect(count).toBeGreaterThan(0)
        expect(count).toBeLessThanOrEqual(1_000)
      }
    }),
    { numRuns: 500 },
  )
})

/** A lone surrogate can not be encoded. */
const toUri = (text: string): string => encodeURIComponent(text.replace(/\p{Cs}/gu, ''))
