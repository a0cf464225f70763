import { type GenericSchema, type InferOutput, object } from 'valibot'
import {
  createSchema,
  getEmailReportSchema,
  getLatestCampaignSchema,
  listSchema,
  sendCustomApiSchema,
} from './campaigns.ts'
import { type Checked, check } from './check.ts'
import { type Issue, ValidationException } from './errors.ts'
import { createEventSchemas, EVENT_NAMES, type TrackingOperation } from './events.ts'
import { text } from './fields.ts'
import { serveJavascriptSchema } from './keys.ts'

export type * from './answers.ts'
export type * from './campaigns.ts'
export type { Checked } from './check.ts'
export * from './delivery.ts'
export * from './errors.ts'
export {
  EVENT_NAMES,
  type EventInput,
  type EventPayload,
  type TrackingOperation,
} from './events.ts'
export { UUID } from './uuid.ts'

const eventSchemas = createEventSchemas(text, object)

/** The schema of each of the sixteen operations of the specification, in the full form. */
const schemas = {
  list: listSchema,
  create: createSchema,
  getEmailReport: getEmailReportSchema,
  getLatestCampaign: getLatestCampaignSchema,
  sendCustomApi: sendCustomApiSchema,
  ...eventSchemas,
  serveJavascript: serveJavascriptSchema,
} satisfies Record<string, GenericSchema>

/** An operation by its name in the specification. */
export type Operation = keyof typeof schemas

/** The clean payload of an operation: converted, only the keys the contract names. */
export type Payload<O extends Operation> = InferOutput<(typeof schemas)[O]>

/**
 * Checks the payload of an operation (specification, "Resources and fields" and "Events"). Only what
 * the payload has itself counts: nothing inherited, nothing from a polluted prototype.
 *
 * @param operation One of the sixteen names, such as `addToCart` or `getLatestCampaign`. Operations
 * whose one argument is no object take it under its name: `{ trackingKey }`, `{ limit }`, `{ id }`.
 * Any other name is a fault of the payload as a whole.
 * @returns The clean payload, or a ValidationException with every fault. Never throws.
 */
export function validate<O extends Operation>(operation: O, payload: unknown): Checked<Payload<O>> {
  if (!Object.hasOwn(schemas, operation))
    return refuse([{ path: '', message: 'Expected the name of an operation, received another' }])
  const schema = schemas[operation] as unknown as GenericSchema<unknown, Payload<O>>
  try {
    const checked = check(schema, payload)
    return checked.ok ? checked : refuse(checked.error.issues.map(hideAddress))
  } catch {
    // A proxy that throws, a class whose name is no text.
    return refuse([{ path: '', message: 'Expected a payload that can be read, received an error' }])
  }
}

const refuse = (issues: readonly Issue[]) =>
  ({ ok: false, error: new ValidationException(issues) }) as const

/**
 * An address may carry a password or a token, so of one that is refused only the start is told. (A
 * page masks its addresses before it checks them.)
 */
const hideAddress = ({ path, message }: Issue): Issue => ({
  path,
  message: path === 'url' ? message.replace(/(received "[^:?#@]*)[:?#@].*/s, '$1…"') : message,
})

const byEventName = new Map<string, TrackingOperation>(
  Object.entries(EVENT_NAMES).flatMap(([operation, name]) =>
    name ? [[name, operation as TrackingOperation] as const] : [],
  ),
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

const byFields = (payload: object): TrackingOperation =>
  byField.find(([field]) => Object.hasOwn(payload, field))?.[1] ?? 'viewHomepage'

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

/**
 * The operation a tracking payload belongs to: by its event name, and only where that is unknown by
 * its fields (decisions.md, "Base address and paths"). Fields can not tell the four product lines apart,
 * nor a page view from a checkout: there the end of the name does (`de_remove_from_cart`). It never
 * turns one shape into another, since a name of the shop's own may end like anything. A line under such a
 * name answers `addToCart`.
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
  const given: { readonly event?: unknown } = Object(payload)
  const event = Object.hasOwn(given, 'event') ? given.event : ''
  const name =
    typeof event === 'string' && event.startsWith(prefix) ? event.slice(prefix.length) : event
  const known = names.get(name as string) ?? byEventName.get(name as string)
  if (known) return known
  const fields = byFields(given)
  const ending = typeof name === 'string' ? byEnd(name) : undefined
  return ending && eventSchemas[ending] === eventSchemas[fields] ? ending : fields
}
