import fc from 'fast-check'
import { expect, test } from 'vitest'
import { MAX_FORM_LEVELS, MAX_NAME_BYTES, parseForm } from './form.ts'

const MAX_VALUES = 1_000
const parse = (text: string | Buffer, maxValues = MAX_VALUES) =>
  parseForm(Buffer.from(text as string), maxValues)

/** As PHP's json_encode($_POST) gives them. */
test.each<[string, string, unknown]>([
  ['nothing', '', {}],
  ['only separators', '&&&', {}],
  ['a text', 'a=1', { a: '1' }],
  ['the last of a repeated name', 'a=1&a=2', { a: '2' }],
  ['no value', 'a&b=', { a: '', b: '' }],
  ['no name', '=1&a=2', { a: '2' }],
  ['an equals sign in a value', 'a=b=c', { a: 'b=c' }],
  ['a plus sign and a percent-encoded one', 'a+b=c+d%2Be', { a_b: 'c d+e' }],
  ['UTF-8', 'a=%C4%83%f0%9f%98%80ă', { a: 'ă😀ă' }],
  ['invalid UTF-8', 'a=%C4&b=%ff%fe', { a: '\ufffd', b: '\ufffd\ufffd' }],
  ['a percent sign without digits', 'a=100%&b=%zz%4', { a: '100%', b: '%zz%4' }],
  ['encoded separators', 'a=%26b%3D1', { a: '&b=1' }],
  ['a null character', 'a=%00', { a: '\0' }],

  ['a list without indices', 'a[]=1&a[]=2', { a: ['1', '2'] }],
  ['a list with indices', 'a[0]=1&a[1]=2', { a: ['1', '2'] }],
  ['percent-encoded brackets', 'a%5B%5D=1&a%5b1%5d=2', { a: ['1', '2'] }],
  ['a space in the brackets', 'a[ ]=1&a[]=2', { a: ['1', '2'] }],
  ['a list that begins again', 'a[0]=1&a[]=2&a[0]=3', { a: ['3', '2'] }],
  ['a list with gaps', 'a[0]=x&a[7]=y', { a: { 0: 'x', 7: 'y' } }],
  ['a list in another order', 'a[1]=x&a[0]=y', { a: { 1: 'x', 0: 'y' } }],
  ['a huge index', 'a[999999999999999]=x', { a: { 999999999999999: 'x' } }],
  ['the index after the highest', 'a[5]=x&a[]=y&a[5]=z', { a: { 5: 'z', 6: 'y' } }],
  ['an object', 'a[b]=1&a[c]=2', { a: { b: '1', c: '2' } }],
  ['indices and names', 'a[]=1&a[b]=2', { a: { 0: '1', b: '2' } }],
  ['an index that is no usual number', 'a[01]=1', { a: { '01': '1' } }],
  ['a negative index', 'a[-1]=1', { a: { '-1': '1' } }],
  ['an index above all numbers', 'a[9999999999999999]=1', { a: { '9999999999999999': '1' } }],
  ['whole numbers as names of the body', '0=a&1=b', { 0: 'a', 1: 'b' }],
  ['a list of objects', 'a[0][b]=1&a[0][c]=2&a[1][b]=3', { a: [{ b: '1', c: '2' }, { b: '3' }] }],
  ['each a line of its own', 'a[][b]=1&a[][c]=2', { a: [{ b: '1' }, { c: '2' }] }],
  ['a text, then an object', 'a=1&a[b]=2', { a: { b: '2' } }],
  ['an object, then a text', 'a[b]=2&a=1', { a: '1' }],

  ['spaces and points in a name', '  a b.c=1', { a_b_c: '1' }],
  ['spaces and points in brackets', 'a[b c.d]=1', { a: { 'b c.d': '1' } }],
  ['a bracket that is not closed', 'a[b=1&c.d[e f=2', { a_b: '1', c_d_e_f: '2' }],
  ['a second bracket that is not closed', 'a[b][c=1', { a: { b: '1' } }],
  ['text after a bracket', 'a[b]c[d]=1', { a: { b: '1' } }],
  ['a bracket in brackets', 'a[b[c]]=1', { a: { 'b[c': '1' } }],
  ['a bracket at the beginning', '[a]=1&]=2&[]=3', { ']': '2' }],
])('%s', (_, text, json) => {
  expect(parse(text)).toEqual({ ok: true, json })
})

test('names of prototypes are names', () => {
  const form = parse('__proto__[x]=1&__proto__=2&constructor[prototype][y]=3&a[__proto__][z]=4')
  if (!form.ok) throw new Error(form.message)
  expect(Object.keys(form.json)).toEqual(['__proto__', 'constructor', 'a'])
  expect(Object.keys(form.json.a as object)).toEqual(['__proto__'])
  expect({}).not.toHaveProperty('x')
  expect({}).not.toHaveProperty('z')
  expect(Object.getPrototypeOf(form.json.a)).toBe(Object.prototype)
})

test('too many values, counted with their lists and objects, are 413', () => {
  const pairs = (count: number) => Array.from({ length: count }, (_, i) => `a${i}=`).join('&')
  const lists = (count: number) => Array.from({ length: count }, (_, i) => `a[${i}][]=`).join('&')
  const refused = {
    ok: false,
    status: 413,
    message: 'Expected a body of at most 1000 values',
  }
  expect(parse(pairs(999)).ok).toBe(true)
  expect(parse(pairs(1_000))).toEqual(refused)
  expect(parse(lists(499)).ok).toBe(true)
  expect(parse(lists(500))).toEqual(refused)
  // Also those that leave nothing, since each has to be read.
  for (const pair of ['a=1&', '=1&', '&']) expect(parse(pair.repeat(1_000))).toEqual(refused)
})

test('a name with too many levels is 400', () => {
  const nest = (levels: number) => `a${'[b]'.repeat(levels - 1)}=1`
  expect(parse(nest(MAX_FORM_LEVELS)).ok).toBe(true)
  const message = `Expected names of fields of at most ${MAX_FORM_LEVELS} levels`
  expect(parse(nest(MAX_FORM_LEVELS + 1))).toEqual({ ok: false, status: 400, message })
  expect(parse(`a${'[]'.repeat(1_000)}=1`)).toMatchObject({ status: 400, message })
})

test('a name that is too long is 400', () => {
  expect(parse(`${'a'.repeat(MAX_NAME_BYTES)}=1`).ok).toBe(true)
  const message = `Expected names of fields of at most ${MAX_NAME_BYTES} bytes`
  for (const text of [`${'a'.repeat(MAX_NAME_BYTES + 1)}=1`, 'a'.repeat(3_000)])
    expect(parse(text)).toEqual({ ok: false, status: 400, message })
})

/** Writes a value as http_build_query does. */
function write(value: unknown, name = ''): string[] {
  if (typeof value === 'string')
    return [`${encodeURIComponent(name)}=${encodeURIComponent(value).replaceAll('%20', '+')}`]
  return Object.entries(value as object).flatMap(([key, inner]) =>
    write(inner, name ? `${name}[${key}]` : key),
  )
}

const fieldName = fc.stringMatching(/^[a-z_]{1,12}$/)
const { value } = fc.letrec((tie) => ({
  text: fc.string({ unit: 'grapheme', maxLength: 20 }),
  // PHP writes nothing for an empty list.
  list: fc.array(tie('value'), { minLength: 1, maxLength: 4 }),
  object: fc.dictionary(fieldName, tie('value'), { minKeys: 1, maxKeys: 4 }),
  value: fc.oneof({ depthSize: 'small', maxDepth: 4 }, tie('text'), tie('list'), tie('object')),
}))

test('what PHP writes for a value is read as that value', () => {
  fc.assert(
    fc.property(fc.dictionary(fieldName, value), (body) => {
      const text = write(body).join('&')
      expect(parse(text, 100_000)).toEqual({ ok: true, json: body })
    }),
  )
})

const odd = fc.constantFrom(
  ...[
    '[',
    ']',
    '[]',
    '[0]',
    '&',
    '=',
    '%',
    '+',
    '.',
    ' ',
    'a',
    '0',
    '-1',
    '__proto__',
    '\0',
    '%5B',
  ],
  ...['constructor', '%ff', '%5D', '[__proto__]', '99999999999999999999', '\ud800', '😀'],
)

test('any bytes are read or refused, within the bounds', () => {
  const bytes = fc.oneof(
    fc.array(odd, { maxLength: 60 }).map((parts) => Buffer.from(parts.join(''))),
    fc.uint8Array({ maxLength: 300 }).map((all) => Buffer.from(all)),
  )
  fc.assert(
    fc.property(bytes, (all) => {
      const form = parse(all, 20)
      if (!form.ok) return [400, 413].includes(form.status)
      expect(countOf(form.json)).toBeLessThanOrEqual(20)
      expect(JSON.parse(JSON.stringify(form.json))).toEqual(form.json)
      return true
    }),
    { numRuns: 1_000 },
  )
})

const countOf = (json: unknown): number =>
  typeof json === 'string'
    ? 1
    : Object.values(json as object).reduce((sum, inner) => sum + countOf(inner), 1)
