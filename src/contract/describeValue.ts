import { lengthOf } from './characters.ts'

/** The most that is shown of a text, characters. */
const MAX_SHOWN = 80

/**
 * A value in an error message, after "received": `"mug"`, `7`, `null`, `a list`, `object`.
 *
 * @param isHidden Whether only its kind may be shown, as in `text of 12 characters`: it may be a secret, or very
 * long. Default false.
 */
export function describeValue(value: unknown, isHidden = false): string {
  if (Array.isArray(value)) return 'a list'
  if (value === null || value === undefined) return `${value}`
  if (typeof value === 'string')
    return isHidden ? `text of ${lengthOf(value)} characters` : `"${value}"`.slice(0, MAX_SHOWN)
  return isHidden || /^[ofs]/.test(typeof value) ? typeof value : `${value}`
}
