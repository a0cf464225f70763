import { EVENT_NAMES } from './eventNames.ts'
import { nearest } from './nearest.ts'

/** A helper's name that differs by more letters is not suggested. */
const MAX_DISTANCE = 4
/** Of this many letters of an attribute one may be wrong. Other attributes belong to another script. */
const LETTERS_PER_FAULT = 4

/** The helpers, which `data-track` names. */
export const HELPERS: readonly string[] = Object.keys(EVENT_NAMES)

/** What `data-track-…` may name beside the fields of a payload. */
const CONTROLS = ['on', 'prevented', 'consent']
/** The fields of a payload, as attributes have them: the test compares them with the schemas. */
export const ATTRIBUTE_FIELDS = [
  'did',
  'event',
  'url',
  'http-user-agent',
  'remote-addr',
  'source',
  'email-address',
  'firstname',
  'lastname',
  'phone',
  'product-id',
  'quantity',
  'variation-id',
  'variation-sku',
  'search-term',
  'email',
]
const NAMES = [...CONTROLS, ...ATTRIBUTE_FIELDS.flatMap((field) => [field, `${field}-from`])].map(
  (name) => `data-track-${name}`,
)
const PREFIX = /^data-track-(.+)/

/** The helper that was probably meant by the value of a `data-track`. Undefined if none is similar. */
export const nearestHelper = (written: string): string | undefined =>
  nearest(written, HELPERS, MAX_DISTANCE)

/**
 * The attribute that was probably meant by one that the script does not read. Undefined for an attribute that it reads,
 * and for one that is similar to none, which belongs to another script.
 *
 * @param name In small letters, such as `data-track-quantiy`.
 */
export function misspelledAttribute(name: string): string | undefined {
  const [, rest = ''] = PREFIX.exec(name) ?? []
  if (!rest || NAMES.includes(name)) return undefined
  return nearest(name, NAMES, Math.floor(rest.length / LETTERS_PER_FAULT))
}
