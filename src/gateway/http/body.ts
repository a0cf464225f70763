import { toUSVString } from 'node:util'
import type { Refusal } from './answers.ts'
import type { ReadBody } from './readBody.ts'

export type Body = { readonly ok: true; readonly json: unknown; readonly bytes: number } | Refusal

/** Values of a body that are no batch: a campaign has 30, an event 12 and what a shop adds. */
const MAX_VALUES = 1_000

/**
 * Reads a request's body as JSON: from browsers it comes as text/plain (no preflight), from servers as
 * application/json, from some with no type at all. Rejects as `readBody` does.
 *
 * @param maxBytes Largest body, bytes of UTF-8; above it 413.
 * @param options.whenEmpty What no body stands for, whatever type it claims. Default: it is no JSON, 400.
 * @param options.maxValues The most values in it, nested ones and lists and objects themselves counted; above
 * it 413. Default 1,000.
 */
export async function readJson(
  request: Request,
  readBody: ReadBody,
  maxBytes: number,
  options: { readonly whenEmpty?: unknown; readonly maxValues?: number } = {},
): Promise<Body> {
  const { whenEmpty, maxValues = MAX_VALUES } = options
  const { headers } = request
  const length = headers.get('content-length')
  const hasBody = length === null ? headers.has('transfer-encoding') : Number(length) > 0
  if (whenEmpty !== undefined && !hasBody) return { ok: true, json: whenEmpty, bytes: 0 }
  const type = headers.get('content-type')
  if (type && !/^\s*(text\/plain|application\/([^;\s]+\+)?json)\s*(;|$)/i.test(type))
    return refusal(415, 'Expected a body of type application/json or text/plain')
  const encoding = headers.get('content-encoding')
  if (encoding && encoding.trim().toLowerCase() !== 'identity')
    return refusal(415, 'Expected a body without Content-Encoding')
  const bytes = await readBody(maxBytes)
  if (!bytes) return refusal(413, `Expected a body of at most ${maxBytes} bytes`)
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

/** Nothing that is taken nests deeper than four levels, five in a batch. */
const MAX_LEVELS = 64
/** A text of so many characters has no time to nest harmfully; an event is shorter than this. */
const SHORT_CHARACTERS = 4_096

const decoder = new TextDecoder()

const refusal = (status: number, message: string): Refusal => ({ ok: false, status, message })

/**
 * Counts a text's values and levels before it is parsed: JSON.parse takes a microsecond a level and up to
 * that a value, seconds for what fits into a campaign, in which nobody is answered. One pass, which leaves
 * off where it is known.
 */
function findExcess(text: string, maxValues: number): Refusal | undefined {
  let level = 0
  let values = 1
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      at = endOfString(text, at)
      // No JSON: the parser says so.
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

/** The place of the quote that ends a string, -1 where there is none. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let before = end
    while (text.charCodeAt(before - 1) === BACKSLASH) before--
    if ((end - before) % 2 === 0) return end
  }
  return -1
}

/**
 * Half of a surrogate pair can come only as an escape, since the body was UTF-8; it becomes U+FFFD, for
 * what can not be written as UTF-8 can not be stored or shown either.
 *
 * @returns undefined where the text is not JSON.
 */
function parse(text: string): unknown {
  try {
    const json: unknown = JSON.parse(text)
    return /\\ud[89a-f]/i.test(text) ? makeWellFormed(json) : json
  } catch {
    return undefined
  }
}

/**
 * Mends the texts of a parsed value in place. A list of what is left to look at, since a value may nest
 * deeper than calls can; not a reviver, which rebuilds every value.
 */
function makeWellFormed(json: unknown): unknown {
  const root = [json]
  const left: unknown[] = [root]
  const mend = (value: unknown): unknown => {
    if (typeof value === 'string') return toUSVString(value)
    if (typeof value === 'object' && value !== null) left.push(value)
    return value
  }
  while (left.length > 0) {
    const inside = left.pop() as unknown[] | Record<string, unknown>
    // Names for the places of a long list would cost more than the walk.
    if (Array.isArray(inside)) for (let i = 0; i < inside.length; i++) inside[i] = mend(inside[i])
    else for (const key of Object.keys(inside)) inside[key] = mend(inside[key])
  }
  return root[0]
}
