import { createEventSchemas, EVENT_NAMES, type TrackingOperation, withoutPrefix } from './events.ts'
import { agent, text, url } from './fields.ts'

const shapes = createEventSchemas(url, agent, text)
const operations = Object.keys(shapes) as TrackingOperation[]

const byEventName = new Map(
  operations.flatMap((operation) =>
    EVENT_NAMES[operation] ? [[EVENT_NAMES[operation], operation] as const] : [],
  ),
)

/** The fields of each operation beyond those that every page event has. */
const ownFields = new Map(
  operations.map((operation) => [
    operation,
    Object.keys(shapes[operation].entries).filter(
      (field) => !(field in shapes.viewHomepage.entries),
    ),
  ]),
)

/** Which operation a payload of an unknown name is, by the most specific field it has. */
const byField: readonly (readonly [field: string, operation: TrackingOperation])[] = [
  ['variation', 'addToCart'],
  ['search_term', 'search'],
  ['email_address', 'setEmail'],
  ['email', 'sendCustom'],
  ['product_id', 'viewProduct'],
]

/** Characters. */
const LONGEST_NAME = Math.max(...Object.values(EVENT_NAMES).map((name) => name.length))

type Given = { readonly [field: string]: unknown }

const byFields = (given: Given): TrackingOperation =>
  byField.find(([field]) => Object.hasOwn(given, field))?.[1] ?? 'viewHomepage'

/**
 * Whether an event under the name of an operation is a custom one all the same: it has an e-mail address,
 * and nothing that this operation has beyond a page event.
 */
const isCustom = (given: Given, named: TrackingOperation): boolean =>
  Object.hasOwn(given, 'email') &&
  typeof given.email === 'string' &&
  !!given.email.trim() &&
  !ownFields
    .get(named)
    ?.some((field) => Object.hasOwn(given, field) && (given[field] ?? undefined) !== undefined)

/**
 * The operation whose usual name stands at the end of an unknown one, behind a separator: a tag may set a
 * prefix that the gateway does not know. Of several the longest.
 */
function byEnd(name: string): TrackingOperation | undefined {
  // A separator more than the longest usual name: a stranger's name may be a hundred thousand of them.
  const end = name.slice(-LONGEST_NAME - 1)
  for (const { index } of end.matchAll(/[^\p{L}\p{N}]/gu)) {
    const operation = byEventName.get(end.slice(index + 1))
    if (operation) return operation
  }
  return undefined
}

/** Which of the four lines an unknown name means, by the words in it: `cart_remove`, `DeleteFavorite`. */
function byWords(name: string): TrackingOperation {
  const isRemoval = /remove|delete/i.test(name)
  if (/wish|favo/i.test(name)) return isRemoval ? 'removeFromWishlist' : 'addToWishlist'
  return isRemoval ? 'removeFromCart' : 'addToCart'
}

/**
 * The operation a tracking payload belongs to: by its event name, and only where that is unknown by its
 * fields. Fields can not tell the four product lines apart, nor a page view from a checkout: there a
 * usual name at the end of the name does (`de_remove_from_cart`), and for lines the words in it. Neither
 * turns one shape into another, since a name of the shop's own may end like anything.
 *
 * A payload with `email`, under the name of an operation of whose own fields it has none, is sendCustom:
 * the name of a custom event is free. So whatever a helper of the page finds valid is valid here under any
 * event name that no other shape has, and under those the page asks for the other's fields too
 * (operationNamed).
 *
 * @param payload Whatever came; what is no object answers `viewHomepage`, and `validate` refuses it.
 * @param names Event names of the customer's own, in front of the usual ones. Default none.
 * @param prefix What the customer puts before each name, removed before looking. Default none.
 */
export function findOperation(
  payload: unknown,
  names: ReadonlyMap<string, TrackingOperation> = new Map(),
  prefix = '',
): TrackingOperation {
  const given: Given = Object(payload)
  const event = Object.hasOwn(given, 'event') ? given.event : ''
  const name = withoutPrefix(typeof event === 'string' ? event : '', prefix)
  const named = names.get(name) ?? byEventName.get(name)
  if (named) return isCustom(given, named) ? 'sendCustom' : named
  const fields = byFields(given)
  const ending = byEnd(name)
  if (ending && shapes[ending] === shapes[fields]) return ending
  return fields === 'addToCart' ? byWords(name) : fields
}
