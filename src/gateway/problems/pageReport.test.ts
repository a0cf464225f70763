import fc from 'fast-check'
import { expect, test } from 'vitest'
import { REPORTED_REASONS } from '../../contract/problems.ts'
import { FIELD_RULES } from './fieldRules.ts'
import { OPERATIONS } from './operations.ts'
import { readPageReport } from './pageReport.ts'

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
  [['outbox_full,search,,/a,b,c'], [['outbox_full', 'search', '', '/a,b,c', 1]]],
  [['refused,sendCustom,email,/quiz?mail=x'], [['refused', 'sendCustom', 'email', '/quiz', 1]]],
  [
    ['invalid,search,search_term,/me/jane%40mail.example'],
    [['invalid', 'search', 'search_term', '/me/*', 1]],
  ],
  // Names that the contract does not have are not kept.
  [['invalid,jane,doe,/'], [['invalid', '', '', '/', 1]]],
  [['invalid,toString,constructor,/'], [['invalid', '', '', '/', 1]]],
  [['jane,,,/', 'invalid', '__proto__', '{"invalid,,,/":1}'], []],
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
  [encodeURIComponent(`invalid,,,/${'x'.repeat(7_000)}`), 'too long'],
])('%j counts nothing: %s', (encoded) => {
  expect(readPageReport(encoded)).toEqual([])
})

test('a report counts at most 40 kinds of faults', () => {
  const lines = Array.from({ length: 100 }, (_, i) => `invalid,,,/${i}`)
  expect(readPageReport(encodeURIComponent(lines.join('\n')))).toHaveLength(40)
})

test('whatever is sent, only names of the contract and bounded paths are counted', () => {
  const part = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom(...REPORTED_REASONS, ...OPERATIONS, ...Object.keys(FIELD_RULES)),
  )
  const line = fc.array(part, { maxLength: 6 }).map((parts) => parts.join(','))
  const text = fc.oneof(
    fc.array(line).map((lines) => lines.join('\n')),
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
      }
    }),
    { numRuns: 500 },
  )
})

/** A lone surrogate can not be encoded. */
const toUri = (text: string): string => encodeURIComponent(text.replace(/\p{Cs}/gu, ''))
