import { EVENT_NAMES, withoutPrefix } from './eventNames.ts'
import { createEventSchemas } from './events.ts'
import { agent, text, url } from './fields.ts'
import type { TrackingOperation } from './payloads.ts'

const schemas = createEventSchemas(url, agent, text)
const operations = Object.keys(schemas) as TrackingOperation[]

const byEventName = new Map(
  operations.flatMap((operation) =>
    EVENT_NAMES[operation] ? [[EVENT_NAMES[operation], operation] as const] : [],
  ),
)

/** The fields of each operation that a page event does not have. */
const ownFields = new Map(
  operations.map((operation) => [
    operation,
    Object.keys(schemas[operation].entries).filter(
      (field) => !(field in schemas.viewHomepage.entries),
    ),
  ]),
)

/** Fields that identify the operation of an event with an unknown name, the most specific first. */
const byField: readonly (readonly [field: string, operation: TrackingOperation])[] = [
  ['variation', 'addToCart'],
  ['search_term', 'search'],
  ['email_address', 'setEmail'],
  ['email', 'sendCustom'],
  ['product_id', 'viewProduct'],
]

/** Length of the longest usual event name, characters. */
const MAX_NAME_CHARACTERS = Math.max(...Object.values(EVENT_NAMES).map((name) => name.length))

type Fields = { readonly [field: string]: unknown }

const byFields = (given: Fields): TrackingOperation =>
  byField.find(([field]) => Object.hasOwn(given, field))?.[1] ?? 'viewHomepage'

/**
 * Whether an event with the name of another operation is a custom event: it has `email`, and no field that is
 * specific to that operation.
 */
const isCustom = (given: Fields, named: TrackingOperation): boolean =>
  Object.hasOwn(given, 'email') &&
  typeof given.email === 'string' &&
  !!given.email.trim() &&
  !ownFields
    .get(named)
    ?.some((field) => Object.hasOwn(given, field) && (given[field] ?? undefined) !== undefined)

/**
 * The operation whose usual name is at the end of an unknown name, after a separator: a tag may set a prefix that the
 * gateway does not know. If several match, the longest.
 */
function byEnd(name: string): TrackingOperation | undefined {
  // Only the end: a name of a hundred thousand separators must not take long.
  const end = name.slice(-MAX_NAME_CHARACTERS - 1)
  for (const { index } of end.matchAll(/[^\p{L}\p{N}]/gu)) {
    const operation = byEventName.get(end.slice(index + 1))
    if (operation) return operation
  }
  return undefined
}

/** Which of the four product lines an unknown name means, by the words in it: `cart_remove`, `DeleteFavorite`. */
function byWords(name: string): TrackingOperation {
  const isRemoval = /remove|delete/i.test(name)
  if (/wish|favo/i.test(name)) return isRemoval ? 'removeFromWishlist' : 'addToWishlist'
  return isRemoval ? 'removeFromCart' : 'addToCart'
}

/**
 * The operation of a tracking payload.
 *
 * 1. By its event name, after removing the prefix. But an event with `email` and without any field that is specific
 *    to the named operation is sendCustom, because a custom event may have any name. The script applies the same
 *    rule (`operationOf` in track.ts), so what a helper accepts is valid here too.
 * 2. If the name is unknown, by its fields. These do not distinguish the four product lines, or a page view from a
 *    checkout. So a usual name at the end of the name decides between operations of the same fields
 *    (`de_remove_from_cart`), and for product lines the words in it.
 *
 * @param payload Anything. For a value that is not an object it returns `viewHomepage`, and `validate` refuses it.
 * @param names The customer's own event names; they take precedence over the usual ones. Default none.
 * @param prefix The customer's prefix of event names. Default none.
 */
export function findOperation(
  payload: unknown,
  names: ReadonlyMap<string, TrackingOperation> = new Map(),
  prefix = '',
): TrackingOperation {
  const given: Fields = Object(payload)
  const event = Object.hasOwn(given, 'event') ? given.event : ''
  const name = withoutPrefix(typeof event === 'string' ? event : '', prefix)
  const named = names.get(name) ?? byEventName.get(name)
  if (named) return isCustom(given, named) ? 'sendCustom' : named
  const fields = byFields(given)
  const ending = byEnd(name)
  if (ending && schemas[ending] === schemas[fields]) return ending
  return fields === 'addToCart' ? byWords(name) : fields
}
