import type { Issue } from './errors.ts'
import {
  MAX_HOST_CHARACTERS,
  MAX_SHORT_CHARACTERS,
  MAX_TEXT_CHARACTERS,
  MAX_URL_CHARACTERS,
  tagOf,
} from './fields.ts'
import { kindOf } from './kindOf.ts'

/**
 * What the short names of rules mean, and what came: for the gateway, the client and the inspector. The
 * script does not carry these words.
 */
const WORDS: { readonly [name: string]: string } = {
  object: 'an object',
  text: `text of at most ${MAX_TEXT_CHARACTERS} characters`,
  [`text 1-${MAX_TEXT_CHARACTERS}`]: `text of 1 to ${MAX_TEXT_CHARACTERS} characters, not blank`,
  [`text 1-${MAX_SHORT_CHARACTERS}`]: `text of 1 to ${MAX_SHORT_CHARACTERS} characters, not blank`,
  url: `an http or https address of at most ${MAX_URL_CHARACTERS} characters, its host of at most ${MAX_HOST_CHARACTERS}`,
  email: 'an e-mail address of at most 254 characters',
  'whole number': 'a whole number from 1',
  digits: `a whole number from 1, of at most ${MAX_TEXT_CHARACTERS} digits`,
}

/** What came, as a person reads it: `"mug"`, `7`, `undefined`, `Array`; a long one cut at 80 characters. */
const show = (value: unknown): string =>
  typeof value === 'string'
    ? `"${value}"`.slice(0, 80)
    : /^[ofs]/.test(typeof value)
      ? tagOf(value)
      : `${value}`

/** How what came is told. What stands in the place of a key may be another secret, and HTML is long. */
const tellerOf = (name: string) =>
  name === 'object' ? tagOf : /^(a tracking key|HTML) /.test(name) ? kindOf : show

/** The value at a dotted path, in what each object has itself. */
const valueAt = (payload: unknown, path: string): unknown =>
  (path ? path.split('.') : []).reduce<unknown>(
    (value, key) => Object.getOwnPropertyDescriptor(Object(value), key) && (value as Fields)[key],
    payload,
  )

type Fields = { readonly [key: string]: unknown }

/**
 * A fault that `check` found, in full: "Expected …, received …". Any other stays as it is.
 *
 * @param payload What was checked.
 */
export const inFull = ({ path, message }: Issue, payload: unknown): Issue => ({
  path,
  message: message.replace(
    /^Expected (.*)/,
    (_, name) =>
      `Expected ${WORDS[name] ?? name}, received ${tellerOf(name)(valueAt(payload, path))}`,
  ),
})
