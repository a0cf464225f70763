import { type GenericSchema, object } from 'valibot'
import {
  createSchema,
  getEmailReportSchema,
  getLatestCampaignSchema,
  listSchema,
  sendCustomApiSchema,
} from './campaigns.ts'
import { check } from './check.ts'
import { describeIssue } from './describeIssue.ts'
import { type Checked, type Issue, ValidationException } from './errors.ts'
import { createEventSchemas } from './events.ts'
import { agent, text, url } from './fields.ts'
import { unfoldIssue } from './lists.ts'
import { saveOrderSchema, updateOrderStatusSchema } from './orders.ts'
import type { Operation, Payload } from './payloads.ts'
import {
  addSubscriberSchema,
  removeSubscriberSchema,
  unsubscribedEmailsSchema,
} from './subscribers.ts'
import { serveJavascriptSchema } from './trackingKey.ts'

export type * from './answers.ts'
export * from './delivery.ts'
export * from './errors.ts'
export { EVENT_NAMES } from './eventNames.ts'
export { findOperation } from './findOperation.ts'
export { fractionDigitsOf, moneyText, readMoney } from './money.ts'
export type * from './payloads.ts'
export type * from './problems.ts'
export type * from './setup.ts'
export { toStoredOrder } from './storedOrder.ts'
export { UUID } from './uuid.ts'

const eventSchemas = createEventSchemas(url, agent, text, object)

/** The schemas of all operations, in the full form. */
const schemas = {
  list: listSchema,
  create: createSchema,
  getEmailReport: getEmailReportSchema,
  getLatestCampaign: getLatestCampaignSchema,
  sendCustomApi: sendCustomApiSchema,
  ...eventSchemas,
  serveJavascript: serveJavascriptSchema,
  saveOrder: saveOrderSchema,
  updateOrderStatus: updateOrderStatusSchema,
  addSubscriber: addSubscriberSchema,
  removeSubscriber: removeSubscriberSchema,
  unsubscribedEmails: unsubscribedEmailsSchema,
} satisfies { readonly [O in Operation]: GenericSchema<unknown, Payload<O>> }

/**
 * Checks the payload of an operation. Only own fields of the payload count, no inherited ones. Never throws.
 *
 * @param operation The name of an operation, such as `addToCart`. An unknown name is an issue with an empty path.
 * @param payload The arguments of the operation as an object: also `{ trackingKey }`, `{ limit }` and `{ id }`.
 * @returns The clean payload, or a ValidationException with every issue.
 */
export function validate<O extends Operation>(operation: O, payload: unknown): Checked<Payload<O>> {
  if (!Object.hasOwn(schemas, operation))
    return refuse([{ path: '', message: 'Expected the name of an operation, received another' }])
  const schema = schemas[operation] as unknown as GenericSchema<unknown, Payload<O>>
  try {
    const checked = check(schema, payload)
    return checked.ok
      ? checked
      : refuse(
          checked.error.issues.map((issue) => hideUrl(describeIssue(unfoldIssue(issue), payload))),
        )
  } catch {
    // A proxy or a getter that throws.
    return refuse([{ path: '', message: 'Expected a payload that can be read, received an error' }])
  }
}

const refuse = (issues: readonly Issue[]) =>
  ({ ok: false, error: new ValidationException(issues) }) as const

/** Shows only the start of a refused URL, since it may contain a password or a token. */
const hideUrl = ({ path, message }: Issue): Issue => ({
  path,
  message: path === 'url' ? message.replace(/(received "[^:?#@]*)[:?#@].*/s, '$1…"') : message,
})
