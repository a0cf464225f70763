import fc from 'fast-check'
import { expect, test } from 'vitest'
import { completePayloads } from '../test/payloads.ts'
import { type Operation, validate } from './index.ts'

/*
 * Each rule against a reference that is written another way: character by character, without the
 * rule's own expressions. Where a rule and its reference differ, fast-check prints the input.
 */

const accepts = (operation: Operation, fields: object) =>
  validate(operation, { ...completePayloads[operation], ...fields }).ok

const acceptsEmail = (email: unknown) => accepts('sendCustom', { email })
const acceptsUrl = (url: unknown) => accepts('viewHomepage', { url })

/** Checks the rule against its reference, and that the inputs held both kinds. */
function compare<T>(
  inputs: fc.Arbitrary<T>,
  rule: (v: T) => unknown,
  reference: (v: T) => unknown,
) {
  const seen = new Set<boolean>()
  fc.assert(
    fc.property(inputs, (input) => {
      const expected = Boolean(reference(input))
      seen.add(expected)
      expect(rule(input)).toBe(expected)
    }),
    { numRuns: 2000 },
  )
  expect(seen.size).toBe(2)
}

const isLetterOrDigit = (character: string) => /^[\p{L}\p{N}]$/u.test(character)
const isMark = (character: string) => /^\p{M}$/u.test(character)

/** decisions.md, "valid e-mail", slowly. */
function isEmail(value: string): boolean {
  const parts = value.split('@')
  const [local = '', domain = ''] = parts
  if (parts.length !== 2 || [...value].length > 254 || [...local].length > 64) return false
  const atoms = local.split('.').map((atom) => [...atom])
  const labels = domain.split('.').map((label) => [...label])
  const special = "!#$%&'*+/=?^_`{|}~-"
  return (
    labels.length >= 2 &&
    atoms.every(
      (atom) =>
        atom.length > 0 &&
        atom.every((c) => isLetterOrDigit(c) || isMark(c) || special.includes(c)),
    ) &&
    labels.every(
      (label) =>
        isLetterOrDigit(label.at(0) ?? '') &&
        label.at(-1) !== '-' &&
        label.every((c) => isLetterOrDigit(c) || isMark(c) || c === '-'),
    )
  )
}

const odd = fc.constantFrom(
  ...['.', '..', '@', '-', '--', '+', "'", ' ', '\t', '\n', '\r', '\u2028', '\u00a0', '\ufeff'],
  ...['"', '[', ']', '(', ',', ';', ':', '<', '\\', '/', '_', '%', '😀', '\u0301', '\ud800', '\0'],
)
const word = fc.oneof(
  fc.constantFrom('a', 'Z', '9', 'ana', 'é', 'Ж', '日本', 'ß', 'e\u0301', '𝒳', 'xn--9', '½', 'नि'),
  fc.nat(40).map((times) => 'x'.repeat(times)),
)
const pieces = (min: number, max: number) =>
  fc.array(fc.oneof({ weight: 9, arbitrary: word }, { weight: 1, arbitrary: odd }), {
    minLength: min,
    maxLength: max,
  })
const emails = fc.oneof(
  fc
    .tuple(pieces(1, 4), pieces(1, 3), pieces(1, 2), pieces(0, 8))
    .map(([local, one, two, rest]) =>
      [`${local.join('.')}@${one.join('-')}`, two.join(''), ...rest].join('.'),
    ),
  fc.string({ unit: 'binary' }),
  fc.array(fc.oneof(word, odd)).map((all) => all.join('')),
)

test('e-mail: as the reference says', () => {
  compare(emails, acceptsEmail, isEmail)
})

test.each([
  ['a local part of 64', `${'é'.repeat(64)}@b.example`, true],
  ['a local part of 65', `${'é'.repeat(65)}@b.example`, false],
  ['64 characters beyond the basic plane', `${'𝒳'.repeat(64)}@b.example`, true],
  ['254 in all', `a@${'b'.repeat(244)}.example`, true],
  ['255 in all', `a@${'b'.repeat(245)}.example`, false],
])('e-mail: %s', (_name, email, expected) => {
  expect(acceptsEmail(email)).toBe(expected)
  expect(isEmail(email)).toBe(expected)
})

/** The control characters, and what ECMAScript calls white space. */
const blanks = [
  ...Array.from({ length: 0x20 }, (_, code) => String.fromCharCode(code)),
  ...Array.from({ length: 0x21 }, (_, code) => String.fromCharCode(0x7f + code)),
  ...' \u1680\u2028\u2029\u202f\u205f\u3000\ufeff',
  ...Array.from({ length: 11 }, (_, code) => String.fromCharCode(0x2000 + code)),
]

/** decisions.md, "valid URL": the WHATWG parser of the platform, then the rest by hand. */
function isUrl(value: string): boolean {
  if (blanks.some((blank) => value.startsWith(blank) || value.endsWith(blank))) return false
  if (!URL.canParse(value)) return false
  const scheme = new URL(value).protocol
  return scheme === 'http:' || scheme === 'https:'
}

const blankOrNot = fc.oneof(
  { weight: 9, arbitrary: fc.constant('') },
  { weight: 1, arbitrary: fc.constantFrom(...blanks) },
)

const urls = fc
  .tuple(
    blankOrNot,
    fc.constantFrom('https://', 'http://', 'HTTPS://', 'https:', 'ftp://', 'javascript:', '//', ''),
    fc.oneof(fc.domain(), fc.ipV4(), fc.constantFrom('[::1]', 'a b', 'пример.рф', 'x:99999', '')),
    fc.oneof(fc.webPath(), fc.string({ unit: 'binary', maxLength: 6 })),
    blankOrNot,
  )
  .map((parts) => parts.join(''))

test('url: as the reference says', () => {
  compare(urls, acceptsUrl, isUrl)
})

test.each(blanks.map((blank) => [blank.codePointAt(0)?.toString(16), blank]))(
  'url: U+%s is refused at each end, not inside a query',
  (_code, blank) => {
    expect(acceptsUrl(`${blank}https://shop.example/`)).toBe(false)
    expect(acceptsUrl(`https://shop.example/${blank}`)).toBe(false)
    expect(acceptsUrl(`https://shop.example/?q=a${blank}b`)).toBe(true)
  },
)

const MAX_ID = 2n ** 53n - 1n

/** decisions.md, "product_id of a product line", in whole numbers of any size. */
function lineIdOf(value: unknown): number | undefined {
  const digits = typeof value === 'string' && value !== '' && [...value].every(isAsciiDigit)
  if (!digits && !(typeof value === 'number' && value % 1 === 0)) return undefined
  const id = BigInt(value as string | number)
  return id >= 1n && id <= MAX_ID ? Number(id) : undefined
}

const isAsciiDigit = (character: string) => character >= '0' && character <= '9'

const nearMax = fc.bigInt(MAX_ID - 5n, MAX_ID + 5n)
const lineIds: fc.Arbitrary<unknown> = fc.oneof(
  fc.integer(),
  fc.integer().map(String),
  fc.double(),
  fc.double().map(String),
  nearMax.map(String),
  nearMax.map(Number),
  fc.tuple(fc.nat(30), fc.nat()).map(([zeros, id]) => '0'.repeat(zeros) + id),
  fc.array(fc.constantFrom(...'0179.+-e x_n٣１\n'), { maxLength: 6 }).map((all) => all.join('')),
  fc.anything(),
)

test('product_id of a line: as the reference says, and converted to the same number', () => {
  compare(
    lineIds,
    (product_id) => {
      const checked = validate('addToCart', { ...completePayloads.addToCart, product_id })
      if (checked.ok) expect(checked.payload.product_id).toBe(lineIdOf(product_id))
      return checked.ok
    },
    (product_id) => lineIdOf(product_id) !== undefined,
  )
})

test('quantity: numbers only, as product_id else', () => {
  compare(
    lineIds,
    (quantity) => accepts('addToCart', { quantity }),
    (quantity) => typeof quantity === 'number' && lineIdOf(quantity) !== undefined,
  )
})

test('whatever comes, validate answers and throws nothing', () => {
  fc.assert(
    fc.property(fc.anything({ withNullPrototype: true, withBigInt: true }), (value) => {
      expect(acceptsEmail(value)).toBe(typeof value === 'string' && isEmail(value))
      expect(validate('search', value).ok).toBe(false)
      expect(validate('create', value).ok).toBe(false)
    }),
  )
})

// An expression that backtracks without bound would not come back from these within a lifetime.
const LONG = 100_000
test.each([
  ['letters', 'a'.repeat(LONG)],
  ['dots', '.'.repeat(LONG)],
  ['atoms', 'a.'.repeat(LONG)],
  ['ats', '@'.repeat(LONG)],
  ['labels', `a@${'a.'.repeat(LONG)}`],
  ['hyphens', `a@a${'-'.repeat(LONG)}`],
  ['a label of hyphens that ends badly', `a@a${'-a'.repeat(120)}!`],
  ['labels that end badly', `a@${'a-a.'.repeat(60)}!`],
  ['marks', `a@a${'\u0301'.repeat(LONG)}!`],
  ['digits', '1'.repeat(LONG)],
  ['zeros', '0'.repeat(LONG)],
  ['digits that end badly', `${'1'.repeat(LONG)}x`],
  ['spaces', ' '.repeat(LONG)],
  ['spaces inside', `x${' '.repeat(LONG)}x`],
  ['control characters inside', `x${'\u0085'.repeat(LONG)}x`],
  ['half characters', '\ud800'.repeat(LONG)],
  ['line breaks', `https://${'\n'.repeat(LONG)}`],
])('a long input of %s is refused everywhere, and soon', (_name, long) => {
  expect(acceptsEmail(long)).toBe(false)
  expect(acceptsUrl(long)).toBe(false)
  expect(accepts('addToCart', { product_id: long })).toBe(false)
  expect(accepts('serveJavascript', { trackingKey: long })).toBe(false)
  const scheduling = { ...completePayloads.create.scheduling, send_at: long }
  expect(accepts('create', { scheduling })).toBe(false)
})

test('a long text is accepted where nothing bounds it', () => {
  expect(acceptsUrl(`https://shop.example/${'a'.repeat(LONG)}`)).toBe(true)
  expect(acceptsUrl(`https://shop.example/?q=a${' '.repeat(LONG)}a`)).toBe(true)
  expect(accepts('search', { search_term: `${' '.repeat(LONG)}a` })).toBe(true)
  expect(accepts('addToCart', { product_id: `${'0'.repeat(LONG)}7` })).toBe(true)
})
