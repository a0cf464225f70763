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
import { createEventSchemas } from './events.ts'
import { agent, text, url } from './fields.ts'
import { serveJavascriptSchema } from './keys.ts'
import { inFull } from './words.ts'

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
export { MAX_AGENT_CHARACTERS } from './fields.ts'
export { findOperation } from './findOperation.ts'
export { UUID } from './uuid.ts'

const eventSchemas = createEventSchemas(url, agent, text, object)

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
    return checked.ok
      ? checked
      : refuse(checked.error.issues.map((issue) => hideAddress(inFull(issue, payload))))
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
