import fc from 'fast-check'
import { object } from 'valibot'
import { expect, test, vi } from 'vitest'
import { completePayloads } from '../test/payloads.ts'
import { check } from './check.ts'
import { pageUrl } from './fields.ts'
import { type Operation, validate } from './index.ts'

/*
 * Compares each rule with a reference that works character by character, without the rule's own expressions. If they
 * differ, fast-check prints the input.
 */

const accepts = (operation: Operation, fields: object) =>
  validate(operation, { ...completePayloads[operation], ...fields }).ok

const acceptsEmail = (email: unknown) => accepts('sendCustom', { email })
const acceptsUrl = (url: unknown) => accepts('viewHomepage', { url })

/** Compares the rule with its reference, and checks that there were valid and invalid inputs. */
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

/** The reference of `email` (docs/decisions.md, "E-mail address"). */
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

test('e-mail: agrees with the reference', () => {
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

const acceptsPageUrl = (url: unknown) => check(object({ url: pageUrl }), { url }).ok

/** Control characters, and white space as ECMAScript defines it. */
const blanks = [
  ...Array.from({ length: 0x20 }, (_, code) => String.fromCharCode(code)),
  ...Array.from({ length: 0x21 }, (_, code) => String.fromCharCode(0x7f + code)),
  ...' \u1680\u2028\u2029\u202f\u205f\u3000\ufeff',
  ...Array.from({ length: 11 }, (_, code) => String.fromCharCode(0x2000 + code)),
]

/** The reference of `url` (docs/decisions.md, "URL"): the URL parser of the platform, then the rest by hand. */
function isUrl(value: string): boolean {
  if (blanks.some((blank) => value.startsWith(blank) || value.endsWith(blank))) return false
  const scheme = parse(value)?.protocol
  return scheme === 'http:' || scheme === 'https:'
}

/** Not URL.canParse: in Node 20, after many calls, it decodes UTF-8 as Latin-1. */
function parse(value: string): URL | undefined {
  try {
    return new URL(value)
  } catch {
    return undefined
  }
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

test('url: agrees with the reference', () => {
  compare(urls, acceptsUrl, isUrl)
  compare(urls, acceptsPageUrl, isUrl)
})

test.each(blanks.map((blank) => [blank.codePointAt(0)?.toString(16), blank]))(
  'url: U+%s is refused at each end, not inside a query',
  (_code, blank) => {
    for (const accepts of [acceptsUrl, acceptsPageUrl]) {
      expect(accepts(`${blank}https://shop.example/`)).toBe(false)
      expect(accepts(`https://shop.example/${blank}`)).toBe(false)
      expect(accepts(`https://shop.example/?q=a${blank}b`)).toBe(true)
    }
  },
)

const MAX_ID = 2n ** 53n - 1n

/** The reference of `lineProductId` (docs/decisions.md, "Line product id"), with integers of any size. */
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

test('product_id of a line: agrees with the reference, and converts to the same number', () => {
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

test('quantity: like product_id, but only numbers', () => {
  compare(
    lineIds,
    (quantity) => accepts('addToCart', { quantity }),
    (quantity) => typeof quantity === 'number' && lineIdOf(quantity) !== undefined,
  )
})

test('validate never throws', () => {
  fc.assert(
    fc.property(fc.anything({ withNullPrototype: true, withBigInt: true }), (value) => {
      expect(acceptsEmail(value)).toBe(typeof value === 'string' && isEmail(value))
      expect(validate('search', value).ok).toBe(false)
      expect(validate('create', value).ok).toBe(false)
    }),
  )
})

// A regular expression that backtracks exponentially would not finish any of these.
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
])('a long input of %s is refused in linear time', (_name, long) => {
  expect(acceptsEmail(long)).toBe(false)
  expect(acceptsUrl(long)).toBe(false)
  expect(accepts('addToCart', { product_id: long })).toBe(false)
  expect(accepts('serveJavascript', { trackingKey: long })).toBe(false)
  const scheduling = { ...completePayloads.create.scheduling, send_at: long }
  expect(accepts('create', { scheduling })).toBe(false)
})

test.each<[Operation, field: string, maxCharacters: number]>([
  ['viewHomepage', 'did', 128],
  ['viewHomepage', 'event', 128],
  ['sendCustomApi', 'event', 128],
  ['viewHomepage', 'remote_addr', 2048],
  ['viewHomepage', 'source', 2048],
  ['viewProduct', 'product_id', 2048],
  ['search', 'search_term', 2048],
  ['setEmail', 'firstname', 2048],
  ['setEmail', 'lastname', 2048],
  ['setEmail', 'phone', 2048],
  ['addToCart', 'variation.id', 2048],
  ['addToCart', 'variation.sku', 2048],
  ['create', 'sender.name', 2048],
  ['create', 'subject.name', 2048],
  ['create', 'subject.subject_line', 2048],
  ['create', 'subject.preview_text', 2048],
  ['create', 'tracking.utm_campaign', 2048],
  ['create', 'tracking.utm_medium', 2048],
  ['create', 'tracking.utm_source', 2048],
  ['list', 'filters', 2048],
  ['list', 'search', 2048],
  ['list', 'type', 2048],
  ['list', 'start_date', 2048],
  ['list', 'page', 2048],
  ['list', 'limit', 2048],
  ['getEmailReport', 'id', 2048],
])('%s.%s has at most %i characters', (operation, path, maxCharacters) => {
  const [field = '', inner] = path.split('.')
  const { [field]: outer } = completePayloads[operation] as { [field: string]: unknown }
  const checkWith = (value: string) =>
    validate(operation, {
      ...completePayloads[operation],
      [field]: inner ? { ...(outer as object), [inner]: value } : value,
    })
  for (const character of ['x', 'é', '😀']) {
    expect(checkWith(character.repeat(maxCharacters)).ok).toBe(true)
    const checked = checkWith(character.repeat(maxCharacters + 1))
    expect(!checked.ok && checked.error.message).toContain(`${path}: Expected`)
    expect(!checked.ok && checked.error.message).toContain(`${maxCharacters} characters`)
  }
})

test('product_id of a line has at most 2048 digits', () => {
  expect(accepts('addToCart', { product_id: `${'0'.repeat(2047)}7` })).toBe(true)
  expect(accepts('addToCart', { product_id: `${'0'.repeat(2048)}7` })).toBe(false)
})

test.each([
  ['x', 5000],
  ['😀', 5000],
  ['😀', 1025],
  ['é', 1024],
  ['x😀', 100_000],
])('a user agent of %s is cut and not refused (%i)', (piece, times) => {
  const http_user_agent = piece.repeat(times)
  const checked = validate('viewHomepage', { ...completePayloads.viewHomepage, http_user_agent })
  const cut = [...http_user_agent].slice(0, 1024).join('')
  expect(checked).toMatchObject({ ok: true, payload: { http_user_agent: cut } })
  expect(accepts('viewHomepage', { http_user_agent: cut })).toBe(true)
})

test('a user agent whose first 1024 characters are blank is blank', () => {
  expect(accepts('viewHomepage', { http_user_agent: `${' '.repeat(1024)}x` })).toBe(false)
})

test.each(['a', 'é', '😀', '%20', '?', '#'])('a URL of 8,192 characters, of %s', (piece) => {
  const start = 'https://shop.example/'
  const path = [...piece.repeat(8192)].slice(0, 8192 - start.length).join('')
  for (const accepts of [acceptsUrl, acceptsPageUrl]) {
    expect(accepts(start + path)).toBe(true)
    expect(accepts(`${start}${path}x`)).toBe(false)
  }
})

/** A host of different ideographs, in labels: the slowest to convert to ASCII. */
const hostOf = (characters: number, first = 0x4e00) =>
  Array.from({ length: characters }, (_, at) =>
    at % 50 === 49 ? '.' : String.fromCodePoint(first + at),
  ).join('')

/** Ways to write a host in a URL, each accepted by the URL parser. */
const spellings: Record<string, (host: string) => string> = {
  plain: (host) => `https://${host}/`,
  'in capitals': (host) => `HTTPS://${host}`,
  'without slashes': (host) => `https:${host}`,
  'with one slash': (host) => `http:/${host}?q=@`,
  'with many slashes': (host) => `https:////////${host}/a@b`,
  'with backslashes': (host) => `https:\\\\/${host}\\a@b`,
  'with a user': (host) => `https://user:password@${host}`,
  'with several @': (host) => `https://a@b@c:d@@${host}#@`,
  'with a port': (host) => `https://${host}:8443/`,
  'with zeros before the port': (host) => `https://${host}:${'0'.repeat(1000)}443`,
  'with tabs inside': (host) => `ht\ttps://${[...host].join('\t')}/`,
  'with line breaks inside': (host) => `https:\n/\r/user\n@${host.replaceAll('.', '\r\n.')}\n/`,
  'percent-encoded': (host) => `https://${encodeURIComponent(host)}/`,
  'percent-encoded in part': (host) =>
    `https://${encodeURIComponent(host.slice(0, 60))}${host.slice(60)}`,
  'with soft hyphens': (host) => `https://${[...host].join('\u00ad')}`,
  'with invisible characters': (host) => `https://${[...host].join('\u200b\ufe0f')}`,
}

const spelled = Object.entries(spellings)

test.each(spelled)('a host that is too long never reaches the parser: %s', (_name, spell) => {
  const parsed = vi.fn()
  vi.stubGlobal(
    'URL',
    class {
      constructor(url: string) {
        parsed(url)
        throw new TypeError('Invalid URL')
      }
    },
  )
  try {
    for (const length of [254, 300, 400])
      expect(acceptsUrl(spell(hostOf(length)).slice(0, 8192))).toBe(false)
    expect(parsed).not.toHaveBeenCalled()
    acceptsUrl(spell(hostOf(253)))
    expect(parsed).toHaveBeenCalledOnce()
  } finally {
    vi.unstubAllGlobals()
  }
})

test.each(spelled)('a host of 253 characters, %s', (_name, spell) => {
  const host = `${`${'a'.repeat(49)}.`.repeat(5)}abc`
  expect(acceptsUrl(spell(host))).toBe(true)
  expect(acceptsUrl(spell(`${host}d`))).toBe(false)
})

test.each(spelled)('the limit applies to the ASCII form of the host too: %s', (_name, spell) => {
  // An ideograph takes about three ASCII characters.
  const [short, long] = [hostOf(40), hostOf(160)]
  expect(new URL(spell(long)).hostname.length).toBeGreaterThan(253)
  expect(acceptsUrl(spell(long))).toBe(false)
  expect(acceptsUrl(spell(short))).toBe(true)
})

const characters = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...'abcxyz0189-') },
  { weight: 1, arbitrary: fc.constantFrom(...'éßЖ日本한ａＺ９') },
  { weight: 1, arbitrary: fc.constantFrom(':', '@', '%', '[', ']', '\u00ad', '\u200d', '。', ' ') },
)
const hosts = fc
  .array(
    fc.array(characters, { minLength: 1, maxLength: 60 }).map((all) => all.join('')),
    { minLength: 1, maxLength: 7 },
  )
  .map((labels) => labels.join('.'))
const noise = fc.constantFrom('', '', '', '\t', '\n', '\r')

const spelledUrls = fc
  .tuple(
    fc.constantFrom('https:', 'http:', 'hTTps:'),
    fc.constantFrom('//', '', '/', '\\\\', '/\\/\\', '///////'),
    fc.constantFrom('', '', 'u@', 'u:p@', '@', 'a@b@', `${'u'.repeat(500)}@`),
    hosts,
    fc.constantFrom('', ':80', ':', ':00000443', ':99999'),
    fc.constantFrom('', '/', '?a@b', '#x', '\\', `/${'x'.repeat(400)}`, `?${'é@'.repeat(300)}`),
    noise,
    noise,
  )
  .map(([scheme, slashes, user, host, port, rest, inHost, inScheme]) =>
    [
      scheme[0],
      inScheme,
      scheme.slice(1),
      slashes,
      user,
      host[0],
      inHost,
      host.slice(1),
      port,
      rest,
    ].join(''),
  )

test('every spelling of a host of at most 253 characters that the parser accepts is valid', () => {
  compare(spelledUrls, acceptsUrl, (url) => isUrl(url) && (parse(url)?.hostname.length ?? 0) <= 253)
})

test('every URL that the script accepts is valid for the gateway', () => {
  compare(spelledUrls, (url) => acceptsPageUrl(url) && acceptsUrl(url), acceptsPageUrl)
})
