import { tagOf } from '../contract/fields.ts'

/**
 * Keeps keys out of errors. Answers and network errors may repeat the address of a request, and with it
 * its keys, in any spelling: as they are, percent-encoded in part or whole, escaped for JSON or HTML, within
 * base64, with a NUL at each letter (a page in UTF-16).
 */

/** What stands where a key was. */
const MASK = '***'
/** A name as short as this is masked only where it stands alone, characters: "7" is in every number. */
const SHORT_CHARACTERS = 3
/** Fewer bytes are not looked for in base64: too little of them is sure to stand there. */
const MIN_BASE64_BYTES = 6
/** The most characters that one of a key takes in a usual spelling: `&amp;#x00000041;` */
const SPELLED_LENGTH = 16
/** Deeper in an answer's body nothing is kept, levels. */
const MAX_DEPTH = 40
/** Parts of a thrown value that are looked through, errors and lists. */
const MAX_PARTS = 100
/** In place of a cause that is no error and may hold a key. */
const LEFT_OUT = '(left out, since it may hold a key)'

/** None of it ever throws. */
export type Mask = {
  /** The text without keys, and without NULs. */
  text(text: string): string
  /** Of a text whose end was cut off: also without what may be the beginning of a key there. */
  cutText(text: string): string
  /** A copy of a decoded body without keys, in names neither. */
  body(body: unknown): unknown
  /**
   * The cause of an error without keys: itself where it holds none, else a copy that keeps name, message,
   * stack and code.
   */
  cause(cause: unknown): unknown
}

/**
 * @param keys Masked wherever they stand.
 * @param names Public ones, such as a customerId: masked as well, but short ones only as whole words.
 */
export function createMask(keys: readonly string[], names: readonly string[] = []): Mask {
  const all = [...keys, ...names]
  const longest = Math.max(0, ...all.map((key) => key.length))
  let pattern: RegExp | undefined
  const text = (given: string) => {
    try {
      // Made when it is first asked: most calls need none.
      pattern ??= createPattern(keys, names)
      return withoutNuls(given).replace(pattern, MASK)
    } catch {
      // An engine that finds the pattern too large says so when it first searches.
      return MASK
    }
  }

  const body = (value: unknown, depth = 0): unknown => {
    if (typeof value === 'string') return text(value)
    if (typeof value === 'number') return text(`${value}`) === `${value}` ? value : MASK
    if (typeof value !== 'object' || value === null) return value
    if (depth === MAX_DEPTH) return '(deeper than an error shows)'
    if (Array.isArray(value)) return value.map((inner) => body(inner, depth + 1))
    const entries = Object.entries(value).map(([key, inner]) => [text(key), body(inner, depth + 1)])
    return Object.fromEntries(entries)
  }

  return {
    text,
    cutText: (given) => text(given).slice(0, -SPELLED_LENGTH * longest),
    body: (value) => body(value),
    cause: (cause) => (isClean(cause, text) ? cause : copyCause(cause, text)),
  }
}

function createPattern(keys: readonly string[], names: readonly string[]): RegExp {
  const isShort = (name: string) => [...name].length <= SHORT_CHARACTERS
  const patterns = [
    ...keys.map(anySpelling),
    ...names.map((name) =>
      isShort(name)
        ? `(?<![\\p{L}\\p{N}])${anySpelling(name)}(?![\\p{L}\\p{N}])`
        : anySpelling(name),
    ),
    ...[...keys, ...names].flatMap(inBase64),
  ]
  // The longest first: one key may begin like another.
  patterns.sort((a, b) => b.length - a.length)
  // Nothing at all where there is no key, rather than everything.
  return new RegExp(patterns.filter(Boolean).join('|') || '(?!)', 'gu')
}

const withoutNuls = (text: string): string => text.replaceAll('\0', '')

/** Characters with a name of their own in HTML. */
const ENTITIES = new Map([
  ['&', 'amp'],
  ['<', 'lt'],
  ['>', 'gt'],
  ['"', 'quot'],
  ["'", 'apos'],
])

/** A pattern of a text in every spelling that an answer may give it. */
const anySpelling = (text: string): string =>
  [...withoutNuls(text).matchAll(/\\+|[^\\]/gu)].map(([part], at) => anyPart(part, at)).join('')

/**
 * A pattern of one character, or of a run of backslashes: each escaping may double it. Every repetition has
 * a bound, so that no answer makes the search slow; that of a run has none, and begins only where the run
 * of the answer does.
 *
 * @param at Which part of the key it is, from 0.
 */
function anyPart(part: string, at: number): string {
  const character = String.fromCodePoint(part.codePointAt(0) as number)
  const isBackslash = character === '\\'
  const escaped = isBackslash ? '' : '\\\\{0,8}'
  const point = character.codePointAt(0) as number
  const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at))
  const bytes = bytesOf(character)
  const spellings = [
    // A line may be broken where there was a space.
    `${escaped}${character.trim() ? escapePattern(character) : '\\s'}`,
    bytes.map((byte) => `%(?:25){0,4}${hexPattern(byte, 2)}`).join(''),
    units.map((unit) => `\\\\${isBackslash ? '' : '{1,8}'}u${hexPattern(unit, 4)}`).join(''),
    `&(?:amp;){0,4}#(?:0{0,6}${point}|[xX]0{0,6}${hexPattern(point, 1)});`,
  ]
  if (character === ' ') spellings.push('\\+')
  const entity = ENTITIES.get(character)
  if (entity) spellings.push(`&(?:amp;){0,4}${entity};`)
  const any = `(?:${spellings.join('|')})`
  if (!isBackslash) return any
  return at === 0 ? `(?<!${any})${any}+` : `${any}+`
}

/** In UTF-8. */
const bytesOf = (character: string): number[] =>
  character < '\x80'
    ? [character.charCodeAt(0)]
    : encodeURIComponent(character)
        .split('%')
        .slice(1)
        .map((byte) => Number.parseInt(byte, 16))

/**
 * Patterns of a text within base64, by where in a group of three bytes it begins. The characters at its
 * ends are of what stands beside it too, and not in the pattern.
 */
function inBase64(text: string): string[] {
  const bytes = [...withoutNuls(text)].flatMap(bytesOf)
  if (bytes.length < MIN_BASE64_BYTES) return []
  return [0, 1, 2].map((before) => {
    const encoded = btoa(String.fromCharCode(...Array<number>(before).fill(0), ...bytes))
    return encoded
      .slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6))
      .replace(/[+/]/g, (sign) =>
        sign === '+' ? '(?:[+-]|%(?:25){0,4}2[bB])' : '(?:\\\\{0,8}/|_|%(?:25){0,4}2[fF])',
      )
  })
}

const hexPattern = (value: number, digits: number): string =>
  value
    .toString(16)
    .padStart(digits, '0')
    .replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`)

const escapePattern = (character: string): string =>
  character.replace(/[\\^$.*+?()[\]{}|/]/, '\\$&')

/** What errors, objects and lists inherit from that show no more than what is looked through below. */
const KNOWN_PROTOTYPES = new Set<unknown>(
  [
    ...[Error, TypeError, RangeError, SyntaxError, ReferenceError, URIError, EvalError],
    ...[AggregateError, (globalThis as { readonly DOMException?: unknown }).DOMException],
    ...[Object, Array],
  ].map((known) => Object(known).prototype),
)

/**
 * Whether a thrown value can be shown as it is: made of errors, plain objects and lists, and without a
 * key. What else hangs on it (a Request, a URL), a class of its own or a getter may show one in ways that
 * can not be looked through.
 */
function isClean(value: unknown, text: Mask['text'], seen: Set<unknown> = new Set()): boolean {
  if (typeof value === 'string' || typeof value === 'number') return text(`${value}`) === `${value}`
  if (typeof value !== 'object' || value === null)
    return value === null || value === undefined || typeof value === 'boolean'
  if (seen.has(value)) return true
  seen.add(value)
  if (seen.size > MAX_PARTS) return false
  try {
    const prototype = Object.getPrototypeOf(value)
    if (prototype !== null && !KNOWN_PROTOTYPES.has(prototype)) return false
    const names = Reflect.ownKeys(value)
    // Some engines make a getter of the stack.
    const isFixed = (name: string | symbol) =>
      name === 'stack' ||
      Object.hasOwn(Object(Object.getOwnPropertyDescriptor(value, name)), 'value')
    if (!names.every(isFixed)) return false
    if (isErrorLike(value)) names.push('name', 'message', 'stack')
    return names.every(
      (name) =>
        text(String(name)) === String(name) && isClean(Reflect.get(value, name), text, seen),
    )
  } catch {
    return false
  }
}

function copyCause(cause: unknown, text: Mask['text'], seen: Set<unknown> = new Set()): unknown {
  if (typeof cause === 'string') return text(cause)
  try {
    if (!isErrorLike(cause) || seen.size > MAX_PARTS || seen.has(cause)) return LEFT_OUT
    seen.add(cause)
    const { name, message, stack, code, syscall, cause: inner, errors } = cause as KnownFields
    const copy = new Error(text(`${message}`))
    const hide = (field: string, value: unknown) =>
      Object.defineProperty(copy, field, { value, configurable: true, writable: true })
    hide('name', text(`${name}`))
    hide('stack', text(`${stack ?? ''}`))
    if (inner !== undefined) hide('cause', copyCause(inner, text, seen))
    if (Array.isArray(errors))
      hide(
        'errors',
        errors.map((each) => copyCause(each, text, seen)),
      )
    if (typeof code === 'string') Object.assign(copy, { code: text(code) })
    if (typeof syscall === 'string') Object.assign(copy, { syscall: text(syscall) })
    return copy
  } catch {
    return LEFT_OUT
  }
}

/** What runtimes tell of a network error. */
type KnownFields = {
  readonly [Field in
    | 'name'
    | 'message'
    | 'stack'
    | 'code'
    | 'syscall'
    | 'cause'
    | 'errors']?: unknown
}

/** By its tag too: `instanceof` does not know errors of another realm, and not every error has the tag. */
const isErrorLike = (value: unknown): value is object =>
  value instanceof Error || /Error|Exception/.test(tagOf(value))
