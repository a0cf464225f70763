import { inspect } from 'node:util'
import fc from 'fast-check'

const toHex = (value: number, digits: number) => value.toString(16).padStart(digits, '0')
const eachUnit = (text: string, spell: (unit: number) => string) =>
  Array.from({ length: text.length }, (_, at) => spell(text.charCodeAt(at))).join('')
export const base64 = (text: string) => Buffer.from(text).toString('base64')
const eachByte = (text: string, spell: (byte: number) => string) =>
  [...new TextEncoder().encode(text)].map(spell).join('')

/** How a text may be spelled in an answer or an error. */
export const SPELLINGS: Readonly<Record<string, (key: string) => string>> = {
  plain: (key) => key,
  'percent-encoded': encodeURIComponent,
  'percent-encoded, small': (key) =>
    encodeURIComponent(key).replace(/%../g, (byte) => byte.toLowerCase()),
  'percent-encoded twice': (key) => encodeURIComponent(encodeURIComponent(key)),
  'percent-encoded, every byte': (key) => eachByte(key, (byte) => `%${toHex(byte, 2)}`),
  'as a form': (key) => new URLSearchParams({ a: key }).toString().slice(2),
  'as an address': (key) => new URL(`https://a.example/?k=${encodeURIComponent(key)}`).href,
  'as JSON': (key) => JSON.stringify(key).slice(1, -1),
  'as JSON in JSON': (key) => JSON.stringify(JSON.stringify(key)).slice(3, -3),
  'as JSON with slashes escaped': (key) => JSON.stringify(key).slice(1, -1).replaceAll('/', '\\/'),
  'as JSON in ASCII': (key) => eachUnit(key, (unit) => `\\u${toHex(unit, 4)}`),
  'as HTML': (key) =>
    key
      .replaceAll('&', '&amp;')
      .replaceAll('<', '&lt;')
      .replaceAll('>', '&gt;')
      .replaceAll('"', '&quot;')
      .replaceAll("'", '&#39;'),
  'as HTML in numbers': (key) =>
    [...key].map((c) => `&#x${toHex(Number(c.codePointAt(0)), 4)};`).join(''),
  'as UTF-16 read as UTF-8': (key) => [...key].map((c) => `${c}\0`).join(''),
  'in base64': base64,
  'in base64, a byte later': (key) => base64(`=${key}`),
  'in base64, two bytes later': (key) => base64(`k=${key}&u`),
  'in base64 for addresses': (key) => Buffer.from(`?k=${key}`).toString('base64url'),
  'in base64, percent-encoded': (key) => encodeURIComponent(base64(`?k=${key}&u=7`)),
}

/** Keys as they are, and as nobody should have them: everything that some spelling changes. */
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

/** All that an error may show, and without the NULs that may stand in it. */
export const told = (error: unknown) => {
  const all =
    inspect(error, { depth: 12, showHidden: true, getters: true }) +
    JSON.stringify(error, Object.getOwnPropertyNames(Object(error))) +
    JSON.stringify(error) +
    JSON.stringify(Object(error).cause)
  return all + all.replace(/\0|\\x00|\\u0000/g, '')
}
