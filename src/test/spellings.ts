import { inspect } from 'node:util'
import fc from 'fast-check'

/** The spellings of a key that an answer may contain. */
export const SPELLINGS: Readonly<Record<string, (key: string) => string>> = {
  plain: (key) => key,
  'percent-encoded': encodeURIComponent,
  'percent-encoded in lower case': (key) =>
    encodeURIComponent(key).replace(/%../g, (byte) => byte.toLowerCase()),
  'as a form': (key) => new URLSearchParams({ a: key }).toString().slice(2),
  'as an address': (key) =>
    new URL(`https://a.example/?${encodeURIComponent(key)}`).search.slice(1),
  'as JSON': (key) => JSON.stringify(key).slice(1, -1),
}

/** Usual keys, and keys with all characters that a spelling changes. */
export const anyKey = fc
  .oneof(
    fc.string({ unit: fc.constantFrom(...'abcXYZ0189-_.~'), minLength: 6, maxLength: 20 }),
    fc.string({
      unit: fc.constantFrom(...'aB3 /+&?=#%\\"\'<>()*!.$^[]{}|é漢🙂'),
      minLength: 6,
      maxLength: 20,
    }),
  )
  .map((key) => key.trim())
  .filter((key) => [...key].length >= 6 && !'***'.includes(key))

/** Every text that can be read from an error. */
export const textOf = (error: unknown) =>
  inspect(error, { depth: 12, showHidden: true, getters: true }) +
  JSON.stringify(error, Object.getOwnPropertyNames(Object(error))) +
  JSON.stringify(error) +
  JSON.stringify(Object(error).cause)
