import { tagOf } from '../contract/fields.ts'

/**
 * Keeps keys out of errors. Answers and network errors may repeat the address of a request, and with it
 * its keys, in any spelling: as they are, percent-encoded in part or whole, escaped for JSON or HTML.
 */

/** What stands where a key was. */
const MASK = '***'
/** A name as short as this is masked only where it stands alone, characters: "7" is in every number. */
const SHORT_CHARACTERS = 3
/** Deeper in an answer's body nothing is kept, levels. */
const MAX_DEPTH = 40
/** Parts of a thrown value that are looked through, errors and lists. */
const MAX_PARTS = 100
/** In place of a cause that is no error and may hold a key. */
const LEFT_OUT = '(left out, since it may hold a key)'

export type Mask = {
  /** The text without keys. */
  text(text: string): string
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
  const patterns = [
    ...keys.map(anySpelling),
    ...names.map((name) =>
      [...name].length > SHORT_CHARACTERS
        ? anySpelling(name)
        : `(?<![\\p{L}\\p{N}])${anySpelling(name)}(?![\\p{L}\\p{N}])`,
    ),
  ]
  // The longest first: one key may begin like another.
  patterns.sort((a, b) => b.length - a.length)
  const pattern = new RegExp(patterns.join('|'), 'gu')
  const text = (given: string) => given.replace(pattern, MASK)

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
    body: (value) => body(value),
    cause: (cause) => (isClean(cause, text) ? cause : copyCause(cause, text)),
  }
}

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
  [...text.matchAll(/\\+|[^\\]/gu)].map(([part]) => anyPart(part)).join('')

/**
 * A pattern of one character, or of a run of backslashes: each escaping may double it. Every repetition has
 * a bound, so that no answer makes the search slow.
 */
function anyPart(part: string): string {
  const character = String.fromCodePoint(part.codePointAt(0) as number)
  const isBackslash = character === '\\'
  const escaped = isBackslash ? '' : '\\\\{0,8}'
  const point = character.codePointAt(0) as number
  const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at))
  const bytes = point < 0x80 ? [point] : bytesOf(character)
  const spellings = [
    `${escaped}${escapePattern(character)}`,
    bytes.map((byte) => `%(?:25){0,4}${hexPattern(byte, 2)}`).join(''),
    units.map((unit) => `\\\\${isBackslash ? '' : '{1,8}'}u${hexPattern(unit, 4)}`).join(''),
    `&(?:amp;){0,4}#(?:0{0,6}${point}|[xX]0{0,6}${hexPattern(point, 1)});`,
  ]
  if (character === ' ') spellings.push('\\+')
  const entity = ENTITIES.get(character)
  if (entity) spellings.push(`&(?:amp;){0,4}${entity};`)
  return `(?:${spellings.join('|')})${isBackslash ? `{1,${8 * part.length}}` : ''}`
}

const bytesOf = (character: string): number[] =>
  encodeURIComponent(character)
    .split('%')
    .slice(1)
    .map((byte) => Number.parseInt(byte, 16))

const hexPattern = (value: number, digits: number): string =>
  value
    .toString(16)
    .padStart(digits, '0')
    .replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`)

const escapePattern = (character: string): string =>
  character.replace(/[\\^$.*+?()[\]{}|/]/, '\\$&')

/**
 * Whether a thrown value can be shown as it is: made of errors, plain objects and lists, and without a
 * key. What else hangs on it (a Request, a URL) may show one in ways that can not be looked through.
 */
function isClean(value: unknown, text: Mask['text'], seen: Set<unknown> = new Set()): boolean {
  if (typeof value === 'string' || typeof value === 'number') return text(`${value}`) === `${value}`
  if (typeof value !== 'object' || value === null)
    return value === null || value === undefined || typeof value === 'boolean'
  if (seen.has(value)) return true
  seen.add(value)
  if (seen.size > MAX_PARTS) return false
  try {
    const isError = isErrorLike(value)
    if (!isError && !Array.isArray(value) && !isPlain(value)) return false
    const names = [...Reflect.ownKeys(value), ...(isError ? ['name', 'message', 'stack'] : [])]
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

const isPlain = (value: object): boolean => {
  const prototype = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}
