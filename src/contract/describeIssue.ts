import { describeValue } from './describeValue.ts'
import type { Issue } from './errors.ts'
import {
  MAX_HOST_CHARACTERS,
  MAX_SHORT_CHARACTERS,
  MAX_TEXT_CHARACTERS,
  MAX_URL_CHARACTERS,
} from './fields.ts'

/** The rules' short names in full. They are not in `fields.ts`, so that the script does not carry them. */
const RULES: { readonly [name: string]: string } = {
  object: 'an object',
  text: `text of at most ${MAX_TEXT_CHARACTERS} characters`,
  [`text 1-${MAX_TEXT_CHARACTERS}`]: `text of 1 to ${MAX_TEXT_CHARACTERS} characters, not blank`,
  [`text 1-${MAX_SHORT_CHARACTERS}`]: `text of 1 to ${MAX_SHORT_CHARACTERS} characters, not blank`,
  url: `an http or https address of at most ${MAX_URL_CHARACTERS} characters, its host of at most ${MAX_HOST_CHARACTERS}`,
  email: 'an e-mail address of at most 254 characters',
  'whole number': 'a whole number from 1',
  digits: `a whole number from 1, of at most ${MAX_TEXT_CHARACTERS} digits`,
}

/**
 * Rules whose value is not shown: HTML is long, and the value of a tracking key or of an object may be a secret that
 * was put into the wrong field.
 */
const HIDDEN = /^(object$|a tracking key |HTML )/

/** The value at a dotted path. Inherited fields do not count. */
const valueAt = (payload: unknown, path: string): unknown =>
  (path ? path.split('.') : []).reduce<unknown>(
    (value, key) => Object.getOwnPropertyDescriptor(Object(value), key) && (value as Fields)[key],
    payload,
  )

type Fields = { readonly [key: string]: unknown }

/**
 * An issue of `check` in full: "Expected …, received …". Any other issue is returned as it is.
 *
 * @param payload The payload that was checked.
 */
export const describeIssue = ({ path, message }: Issue, payload: unknown): Issue => ({
  path,
  message: message.replace(
    /^Expected (.*)/,
    (_, rule) =>
      `Expected ${RULES[rule] ?? rule}, received ${describeValue(valueAt(payload, path), HIDDEN.test(rule))}`,
  ),
})
