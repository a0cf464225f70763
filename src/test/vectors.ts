import { readFileSync } from 'node:fs'

/** One row of a fixture. */
export type Vector<Input, Expected> = {
  readonly id: string
  readonly kind: string
  readonly input: Input
  readonly expected: Expected
}

/** The values that `{"$js": "…"}` may name, because JSON can not contain them. */
const BEYOND_JSON = new Map<unknown, unknown>([
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
  ['-0', -0],
  ['undefined', undefined],
])

/**
 * The vectors of a fixture, decoded.
 *
 * @param file Address of a JSON file that holds a list; `new URL('./fixtures/x.json', import.meta.url)`.
 */
export function readVectors<Input, Expected>(file: URL): readonly Vector<Input, Expected>[] {
  return decode(JSON.parse(readFileSync(file, 'utf8'))) as readonly Vector<Input, Expected>[]
}

/**
 * Replaces the tokens in a value, at any depth: `{"$repeat": ["x", 3]}` is `xxx`, `{"$concat": […]}` joins its
 * elements, `{"$js": "NaN"}` is a value that JSON can not contain. No code is evaluated. An unknown token throws. A key
 * such as `__proto__` becomes an own property.
 */
export function decode(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(decode)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value)
  const [token, argument] = entries[0] ?? []
  if (token?.startsWith('$')) return decodeToken(token, argument)
  return Object.fromEntries(entries.map(([key, inner]) => [key, decode(inner)]))
}

function decodeToken(token: string, argument: unknown): unknown {
  if (token === '$js' && BEYOND_JSON.has(argument)) return BEYOND_JSON.get(argument)
  if (token === '$concat' && Array.isArray(argument)) return argument.map(decode).join('')
  if (token === '$repeat' && Array.isArray(argument)) {
    const [text, times] = argument
    return `${decode(text)}`.repeat(Number(times))
  }
  throw new TypeError(`No such token: ${token} ${JSON.stringify(argument)}`)
}
