import { toUSVString } from 'node:util'
import { type Refusal, refusal } from './answers.ts'
import { parseForm } from './form.ts'
import type { ReadBody } from './readBody.ts'
import type { RequestHead } from './requestHead.ts'

export type Body =
  | {
      readonly ok: true
      readonly json: unknown
      readonly bytes: number
      /** Whether it was a form, so that every value is a text. */
      readonly isForm?: boolean
    }
  | Refusal

export type BodyOptions = {
  /** The value of an empty body, whatever its type is. Default: 400. */
  readonly whenEmpty?: unknown
  /** The most values in it; nested ones, lists and objects count too. Above it 413. Default 1,000. */
  readonly maxValues?: number
  /** Whether it may also be application/x-www-form-urlencoded, see `parseForm`. Default false: 415. */
  readonly form?: boolean
}

/** The most values in a body other than a batch. A campaign has 30, an event 12 and those that a shop adds. */
export const MAX_VALUES = 1_000

/**
 * Reads a body as JSON. Browsers send it as text/plain (which needs no preflight), servers as application/json, and
 * some without a type. A body of the type of a form that begins like JSON is JSON: HTTP libraries of PHP give every text this
 * type. Rejects like `readBody`.
 *
 * @param maxBytes Largest body, bytes of UTF-8. Above it 413.
 */
export async function readJson(
  request: RequestHead,
  readBody: ReadBody,
  maxBytes: number,
  options: BodyOptions = {},
): Promise<Body> {
  const { whenEmpty, maxValues = MAX_VALUES } = options
  const { headers } = request
  if (whenEmpty !== undefined && !hasBody(request)) return { ok: true, json: whenEmpty, bytes: 0 }
  const type = headers.get('content-type')
  const mayBeForm = options.form === true && type !== null && IS_FORM.test(type)
  if (type && !mayBeForm && !IS_JSON.test(type))
    return refusal(415, options.form ? NO_FORM : NO_JSON)
  const encoding = headers.get('content-encoding')
  if (encoding && encoding.trim().toLowerCase() !== 'identity')
    return refusal(415, 'Expected a body without Content-Encoding')
  const bytes = await readBody(maxBytes)
  if (!bytes) return refusal(413, `Expected a body of at most ${maxBytes} bytes`)
  if (mayBeForm && !beginsLikeJson(bytes)) {
    const form = parseForm(bytes, maxValues)
    return form.ok ? { ...form, bytes: bytes.length, isForm: true } : form
  }
  const text = decoder.decode(bytes)
  if (text.length > SHORT_CHARACTERS) {
    const fault = findExcess(text, maxValues)
    if (fault) return fault
  }
  const json = whenEmpty !== undefined && !text.trim() ? whenEmpty : parse(text)
  return json === undefined
    ? refusal(400, 'The body is not JSON')
    : { ok: true, json, bytes: bytes.length }
}

/** Whether a request has a body, as its head says. */
export function hasBody({ headers }: RequestHead): boolean {
  const length = headers.get('content-length')
  return length === null ? headers.has('transfer-encoding') : Number(length) > 0
}

/** Valid bodies have at most four levels, batches five. */
export const MAX_LEVELS = 64
/** A shorter text is parsed fast, however deep it nests. Most events are shorter. */
const SHORT_CHARACTERS = 4_096

const decoder = new TextDecoder()

const IS_JSON = /^\s*(text\/plain|application\/([^;\s]+\+)?json)\s*(;|$)/i
const IS_FORM = /^\s*application\/x-www-form-urlencoded\s*(;|$)/i

const NO_JSON = 'Expected a body of type application/json or text/plain'
const NO_FORM = 'Expected a body of type application/json or application/x-www-form-urlencoded'

/** No field has a name that begins like this, with or without a byte order mark. */
const beginsLikeJson = (bytes: Buffer): boolean =>
  /^(?:\xef\xbb\xbf)?\s*[[{]/.test(bytes.toString('latin1', 0, 64))

/**
 * Counts the values and levels of a text before it is parsed. JSON.parse takes up to a microsecond for each, which is
 * seconds for a body as large as a campaign, and blocks every other request. Stops at the first excess.
 */
function findExcess(text: string, maxValues: number): Refusal | undefined {
  let level = 0
  let values = 1
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      at = endOfString(text, at)
      // The text is not JSON, which the parser reports.
      if (at < 0) return undefined
    } else if (code === OPEN_LIST || code === OPEN_OBJECT) {
      level++
      values++
      if (level > MAX_LEVELS)
        return refusal(400, `Expected a body of at most ${MAX_LEVELS} levels of lists and objects`)
    } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) level--
    else if (code === COMMA) values++
    if (values > maxValues) return refusal(413, `Expected a body of at most ${maxValues} values`)
  }
  return undefined
}

const [QUOTE, BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT, COMMA] = [
  ...Buffer.from('"\\[]{},'),
]

/** Index of the quote that ends a string, -1 if there is none. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let before = end
    while (text.charCodeAt(before - 1) === BACKSLASH) before--
    if ((end - before) % 2 === 0) return end
  }
  return -1
}

/**
 * Parses a text. A lone surrogate (which in UTF-8 can only be an escape) becomes U+FFFD, since it can not be stored or
 * sent as UTF-8.
 *
 * @returns undefined if the text is not JSON.
 */
function parse(text: string): unknown {
  try {
    const json: unknown = JSON.parse(text)
    // The first search is much faster, and most texts have no escape.
    const isEscaped = text.includes('\\u') && /\\ud[89a-f]/i.test(text)
    return isEscaped ? makeWellFormed(json) : json
  } catch {
    return undefined
  }
}

/**
 * Replaces lone surrogates in the texts of a parsed value, in place. Not recursive, since a value may nest deeper than
 * the stack, and not a reviver, which would rebuild every value.
 */
function makeWellFormed(json: unknown): unknown {
  const root = [json]
  const left: unknown[] = [root]
  const replace = (value: unknown): unknown => {
    if (typeof value === 'string') return toUSVString(value)
    if (typeof value === 'object' && value !== null) left.push(value)
    return value
  }
  while (left.length > 0) {
    const inside = left.pop() as unknown[] | Record<string, unknown>
    // Object.keys of a long list would cost more than the loop.
    if (Array.isArray(inside))
      for (let i = 0; i < inside.length; i++) inside[i] = replace(inside[i])
    else for (const key of Object.keys(inside)) inside[key] = replace(inside[key])
  }
  return root[0]
}
