import { type Refusal, refusal } from './answers.ts'

/** The most levels of a name: `products[0][price]` has three. No operation has more than three. */
export const MAX_FORM_LEVELS = 8
/** The longest name, bytes as they are sent. A name of 128 characters may be percent-encoded as 1,536. */
export const MAX_NAME_BYTES = 2_048

export type Form = { readonly ok: true; readonly json: Readonly<Record<string, unknown>> } | Refusal

/** A list or an object while it is being read: PHP has one type for both. */
type Branch = {
  readonly entries: Map<string, Branch | string>
  /** Index of the next value that has none (`channels[]`). */
  next: number
}

/**
 * Reads a body of type application/x-www-form-urlencoded as PHP does
 * (https://www.php.net/manual/en/language.variables.external.php), since the senders write it for PHP. The result is
 * the value that the same body would have as JSON, with texts for numbers:
 *
 * - `a=1&a=2` is the last, `a[]=1&a[]=2` and `a[0]=1&a[1]=2` are lists, `a[b]=1` is an object.
 * - Values whose names are 0, 1, 2 and so on are a list. With gaps, or in another order, they are an object, as PHP's
 *   `json_encode` makes it. So an index takes no memory, however large it is.
 * - A name without a value is an empty text. A pair without a name is ignored.
 * - Invalid UTF-8 becomes U+FFFD, as in JSON.
 *
 * @param maxValues The most values in it; lists and objects count too. Above it 413.
 * @returns Refused with 400 if a name is too long or has too many levels.
 */
export function parseForm(bytes: Buffer, maxValues: number): Form {
  const decode = createDecoder(bytes)
  const root = createBranch()
  let values = 1

  function put(path: readonly string[], value: string): void {
    let branch = root
    path.forEach((name, level) => {
      const key = name === '' ? `${branch.next}` : name
      if (isIndex(key)) branch.next = Math.max(branch.next, Number(key) + 1)
      if (level === path.length - 1) {
        branch.entries.set(key, value)
        return
      }
      let inner = branch.entries.get(key)
      if (inner === undefined || typeof inner === 'string') {
        inner = createBranch()
        branch.entries.set(key, inner)
        values++
      }
      branch = inner
    })
  }

  for (let start = 0; start <= bytes.length; ) {
    const next = bytes.indexOf(AMPERSAND, start)
    const end = next < 0 ? bytes.length : next
    const found = bytes.subarray(start, end).indexOf(EQUALS)
    const equals = found < 0 ? end : start + found
    if (equals - start > MAX_NAME_BYTES)
      return refusal(400, `Expected names of fields of at most ${MAX_NAME_BYTES} bytes`)
    const path = readName(decode(start, equals))
    if (path.length > MAX_FORM_LEVELS)
      return refusal(400, `Expected names of fields of at most ${MAX_FORM_LEVELS} levels`)
    if (path.length > 0) put(path, decode(equals + 1, end))
    // Pairs without a name too, since they take time.
    if (++values > maxValues) return refusal(413, `Expected a body of at most ${maxValues} values`)
    start = end + 1
  }
  return { ok: true, json: toObject(root) }
}

const createBranch = (): Branch => ({ entries: new Map(), next: 0 })

/** Whether PHP would make it a number. Larger ones are names here. */
const isIndex = (name: string): boolean => /^(?:0|[1-9]\d{0,14})$/.test(name)

/** Object.fromEntries also takes `__proto__` as the name of a field, as JSON.parse does. */
const toObject = ({ entries }: Branch): Record<string, unknown> =>
  Object.fromEntries([...entries].map(([name, value]) => [name, toJson(value)]))

function toJson(value: Branch | string): unknown {
  if (typeof value === 'string') return value
  const isList = [...value.entries.keys()].every((name, index) => name === `${index}`)
  return isList ? [...value.entries.values()].map(toJson) : toObject(value)
}

/**
 * Divides a decoded name: `products[0][price]` is `products`, `0`, `price`. An empty part stands for the next index.
 * The rules are PHP's: spaces in front are removed; spaces and points before the first bracket become `_`, and so does
 * a bracket that is not closed; what follows the last bracket is ignored.
 *
 * @returns An empty list for a name without a first part.
 */
function readName(name: string): string[] {
  const text = name.replace(/^ +/, '')
  const open = text.indexOf('[')
  const first = (open < 0 ? text : text.slice(0, open)).replace(/[ .]/g, '_')
  if (!first) return []
  if (open >= 0 && text.indexOf(']', open) < 0) return [text.replace(/[ .[]/g, '_')]
  const path = [first]
  for (let at = open; at >= 0 && text[at] === '['; ) {
    const close = text.indexOf(']', at)
    if (close < 0) break
    const part = text.slice(at + 1, close)
    path.push(/^\s?$/.test(part) ? '' : part)
    at = close + 1
  }
  return path
}

const [AMPERSAND, EQUALS, PLUS, PERCENT, SPACE] = [...Buffer.from('&=+% ')] as [
  number,
  number,
  number,
  number,
  number,
]

/**
 * Decodes parts of a body: `+` and `%XX`, then UTF-8. By bytes, since `decodeURIComponent` throws for invalid UTF-8,
 * which costs more than the rest. A `%` that is not followed by two hexadecimal digits stays as it is.
 */
function createDecoder(bytes: Buffer): (start: number, end: number) => string {
  const decoded = Buffer.allocUnsafe(bytes.length)
  return (start, end) => {
    let length = 0
    for (let at = start; at < end; at++) {
      let byte = bytes[at] as number
      if (byte === PLUS) byte = SPACE
      else if (byte === PERCENT && at + 2 < end) {
        const high = HEX[bytes[at + 1] as number] as number
        const low = HEX[bytes[at + 2] as number] as number
        if (high >= 0 && low >= 0) {
          byte = high * 16 + low
          at += 2
        }
      }
      decoded[length++] = byte
    }
    return decoded.toString('utf8', 0, length)
  }
}

/** Values of hexadecimal digits, by byte. -1 for other bytes. A table, since this runs for every byte of a campaign. */
const HEX = new Int8Array(256).fill(-1)
for (const digit of '0123456789abcdefABCDEF') HEX[digit.charCodeAt(0)] = Number.parseInt(digit, 16)
