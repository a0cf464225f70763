import fc from 'fast-check'
import { expect, test } from 'vitest'
import { anyKey, SPELLINGS } from '../test/spellings.ts'
import { createRedact } from './redact.ts'

test.each(Object.entries(SPELLINGS))('a key %s is replaced', (_name, spell) => {
  fc.assert(
    fc.property(anyKey, fc.string(), fc.string(), (key, before, after) => {
      const redacted = createRedact([key])(`${before}${spell(key)}${after}`)
      expect(redacted).toContain('***')
      expect(redacted).not.toContain(spell(key))
    }),
  )
})

test('other text stays', () => {
  const text = 'restKey 9f31 of customer 7 %20 &amp; \\u0041'
  expect(createRedact(['rest-Key-9f31', 'CUSTOMER-7'])(text)).toBe(text)
})

test('without keys every text stays', () => {
  for (const keys of [[], ['']]) expect(createRedact(keys)('any text', false)).toBe('any text')
})

test('a key in upper or lower case is replaced', () => {
  expect(createRedact(['rest+Key'])('REST+KEY rest%2bkey')).toBe('*** ***')
})

test('a key that begins like another is replaced as a whole', () => {
  expect(createRedact(['secret', 'secret-long'])('a secret-long secret')).toBe('a *** ***')
})

test('the end of a cut text is removed, because it may be the beginning of a key', () => {
  const key = 'rest+Key/9f31'
  for (const spell of Object.values(SPELLINGS)) {
    const spelled = spell(key)
    for (let shown = 1; shown < spelled.length; shown++) {
      const redacted = createRedact([key])(`${'x'.repeat(100)}${spelled.slice(0, shown)}`, true)
      expect(redacted).toMatch(/^x{50,100}$/)
    }
  }
})

test('long texts of repeated characters are searched for keys of the same characters', () => {
  const keys = [
    '\\'.repeat(256),
    'a'.repeat(255),
    `${'a'.repeat(255)}b`,
    '%'.repeat(256),
    "'()*".repeat(64),
  ]
  const redact = createRedact(keys)
  for (const filler of ['\\', '%', '%25', 'a', ' ', '+', '*'])
    expect(redact(filler.repeat(60_000 / filler.length)).length).toBeGreaterThan(0)
})
