import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { anyKey, base64, SPELLINGS, told } from '../test/spellings.ts'
import { createMask } from './secrets.ts'

describe('a mask', () => {
  test.each(Object.entries(SPELLINGS))('knows a key %s', (_name, spell) => {
    fc.assert(
      fc.property(anyKey, fc.string(), fc.string(), (key, before, after) => {
        const masked = createMask([key]).text(`${before}${spell(key)}${after}`)
        expect(masked).toContain('***')
        expect(masked).not.toContain(spell(key))
      }),
    )
  })

  test('leaves what is no key', () => {
    const { text, body } = createMask(['rest-Key-9f31'], ['CUSTOMER-7', '42'])
    expect(text('restKey 9f31 of customer 7 %20 &amp; \\u0041')).toBe(
      'restKey 9f31 of customer 7 %20 &amp; \\u0041',
    )
    expect(body({ a: [1, true, null, 'x'], b: { c: 4.5 } })).toEqual({
      a: [1, true, null, 'x'],
      b: { c: 4.5 },
    })
  })

  test('takes a short name only where it stands alone', () => {
    const { text } = createMask([], ['42'])
    expect(text('u=42&x=420, no 4242 in it: 42!')).toBe('u=***&x=420, no 4242 in it: ***!')
  })

  test('takes a key that begins like another', () => {
    expect(createMask(['secret'], ['secret-long']).text('a secret-long secret')).toBe('a *** ***')
  })

  test('masks names, numbers and depths of a body, and keeps its prototype out', () => {
    const { body } = createMask(['123456'])
    const given = JSON.parse(
      '{"k123456":[{"n":123456,"m":12},"x123456"],"__proto__":{"a":"123456"}}',
    )
    const masked = body(given)
    expect(JSON.stringify(masked)).toBe(
      '{"k***":[{"n":"***","m":12},"x***"],"__proto__":{"a":"***"}}',
    )
  })

  test('of base64 nothing is left but what stands around the key', () => {
    fc.assert(
      fc.property(anyKey, fc.nat(7), fc.nat(7), (key, before, after) => {
        const text = base64('?'.repeat(before) + key + '&'.repeat(after))
        const [head = '', tail = ''] = createMask([key]).text(text).split('***')
        expect(head.length).toBeLessThanOrEqual(Math.ceil((before * 4) / 3) + 1)
        expect(tail.replaceAll('=', '').length).toBeLessThanOrEqual(Math.ceil((after * 4) / 3) + 1)
      }),
    )
  })

  test('knows a key whose words are on two lines', () => {
    const { text } = createMask(['rest Key  9f31'])
    expect(text('a rest\nKey \t9f31 b')).toBe('a *** b')
  })

  test.each([5_000, 40_000])('never throws, not even for a key of %i characters', (length) => {
    const key = 'Ab1-'.repeat(length / 4)
    const { text, body, cause } = createMask([key])
    expect(text(`a ${key} b`)).not.toContain('Ab1-')
    expect(JSON.stringify(body({ [key]: [key] }))).not.toContain('Ab1-')
    expect(told(cause(new Error(key)))).not.toContain('Ab1-')
  })

  test('is not made slow by an answer', () => {
    const long = 60_000
    const { text } = createMask([
      '\\\\a\\\\b\\\\c',
      `${'\\'.repeat(254)}x`,
      `a${'\\'.repeat(254)}`,
      'a'.repeat(256),
      '%%%%%%25',
      '&&&&&&&',
      'aaaaaaaaaaaaab',
      '      x',
    ])
    for (const filler of ['\\', '%', '%25', '&', '&amp;', 'amp;', 'a', ' ', '+', '\\u0061'])
      expect(text(filler.repeat(long / filler.length)).length).toBeGreaterThan(0)
  })

  test('leaves a clean cause as it is, and copies another', () => {
    const { cause } = createMask(['rest-Key-9f31'])
    const code = { code: 'ECONNREFUSED', syscall: 'connect' }
    const clean = new TypeError('fetch failed', {
      cause: Object.assign(new Error('refused'), code),
    })
    expect(cause(clean)).toBe(clean)
    for (const same of [undefined, null, 'left', 7, true]) expect(cause(same)).toBe(same)

    const inner = Object.assign(new Error('at ?k=rest-Key-9f31'), code)
    const copy = cause(new TypeError('fetch failed', { cause: inner })) as Error
    expect(copy).toMatchObject({ name: 'TypeError', message: 'fetch failed' })
    expect(copy.cause).toMatchObject({ name: 'Error', message: 'at ?k=***', ...code })
    expect((copy.cause as Error).stack).toContain('secrets.test')
  })
})
