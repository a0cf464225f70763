import { isRecordOperation } from '../../contract/recordOperations.ts'
import type { Customer } from '../customers/customers.ts'
import { isOfServers } from '../customers/usage.ts'
import { allowsOrigin } from '../http/origins.ts'
import { type Fault, OTHER } from './problems.ts'
import { fieldsOf } from './recordFields.ts'

/** A problem in words. It contains no value that a visitor has sent. */
export type Explanation = {
  /** What is wrong, one sentence. */
  readonly message: string
  /** What to do, one sentence or two. */
  readonly fix: string
}

/** The part of a customer that the words depend on. */
export type Explained = Pick<Customer, 'customerId' | 'trackingKey' | 'origins'>

const DEBUG = 'Open the page with ?track_debug=1 to see each event with its faults'
const NO_ANSWER =
  'Look at the other problems: while a key or an Origin is refused, or the gateway can not be reached, pages keep their events'

/** Describes a problem: one sentence what is wrong, and what to do. */
export function explainProblem(fault: Fault, customer: Explained): Explanation {
  return fault.page === OTHER ? explainOther(fault) : EXPLAIN[fault.reason](fault, customer)
}

const EXPLAIN: Record<Fault['reason'], (fault: Fault, customer: Explained) => Explanation> = {
  invalid: (fault) =>
    fault.operation
      ? {
          message: `Pages drop ${eventsOf(fault)} before they are sent: ${faultOf(fault)}.`,
          fix: `${supplyOf(fault)}. ${DEBUG}.`,
        }
      : {
          message:
            'Pages drop events before they are sent: no helper has the name that data-track or the call gives.',
          fix: `Correct the name. ${DEBUG}.`,
        },
  refused: (fault) =>
    fault.source === 'page'
      ? {
          message: `Pages have dropped ${eventsOf(fault)}, because they were refused.`,
          fix: 'Look at the problem of the gateway with the same operation, which has the field and an example. If there is none, something between the pages and the gateway refuses them.',
        }
      : {
          message: `The gateway refuses ${eventsOf(fault)} with 422: ${faultOf(fault)}.`,
          fix: isServers(fault) ? `${supplyOf(fault)}.` : `${supplyOf(fault)}. ${DEBUG}.`,
        },
  too_old: (fault) => ({
    message: `Pages have dropped ${eventsOf(fault)} that could not be delivered for longer than the key’s setting maxAgeDays.`,
    fix: `${NO_ANSWER}.`,
  }),
  outbox_full: (fault) => ({
    message: `Pages have dropped ${eventsOf(fault)}, because too many events wait in the browser.`,
    fix: `${NO_ANSWER}. If the key asks for consent, more calls wait for the answer than its setting consentEvents keeps.`,
  }),
  origin: ({ page }, customer) =>
    allowsOrigin(customer.origins, page)
      ? {
          message: `Pages of ${page} were refused with 403, since this Origin was not allowed. It is allowed now.`,
          fix: 'Nothing: the pages send again what they have kept.',
        }
      : {
          message: `Pages of ${page || 'an Origin that no browser sends'} are refused with 403, since the customer does not allow this Origin. They keep their events.`,
          fix: page
            ? `If they are pages of the shop, allow it: ${allow(customer, page)}`
            : 'Nothing, unless a program of yours sends these events: give it the REST key (api_key), or the Origin of the shop.',
        },
  wrong_key: ({ path, page }, { customerId }) =>
    path === 'origin'
      ? {
          message: `Requests to ${page} have neither an Origin nor a REST key (api_key), so they are refused with 401.`,
          fix: 'A shop’s server adds its REST key as api_key. A page sends its Origin by itself, unless it is a file or a sandboxed frame.',
        }
      : {
          message: `Requests to ${page} have a wrong REST key, so they are refused with 401.`,
          fix: `If they are of the shop’s server, give it the right key (${page.startsWith('/t/') ? 'api_key' : 'k'}). A lost key is replaced with: npx shoptrail customer rotate ${customerId} --key rest`,
        },
  too_large: ({ page }) => ({
    message: `Requests to ${page} are larger than the gateway accepts, so they are refused with 413.`,
    fix: isRest(page)
      ? 'Send smaller requests: the answer to the call says how large they may be.'
      : 'Send smaller requests: an event has at most 131,072 bytes and 1,000 values, a batch 1,048,576 bytes, 500 events and 20,000 values.',
  }),
  unknown_key: ({ path, page }, customer) =>
    path === customer.trackingKey
      ? {
          message: `Pages of ${page} have used the tracking key ${path} before it was known. It is known now.`,
          fix: 'Nothing: the pages send again what they have kept.',
        }
      : {
          message: `Pages of ${page} use the tracking key ${path || '(not a key)'}, which no customer has. They track nothing.`,
          fix: `${path.endsWith('…') ? `If it is the secret REST key, replace that at once: npx shoptrail customer rotate ${customer.customerId} --key rest. ` : ''}Put the customer’s key in the tag and the stub: ${customer.trackingKey}. The page /setup shows both.`,
        },
}

function explainOther({ reason, source }: Fault): Explanation {
  return {
    message: `Further problems of this kind (${reason}, counted by the ${source}), counted together, since they are too many for a day.`,
    fix: 'Solve the problems of this kind that are listed. If they are of unknown senders, there is nothing to do.',
  }
}

function eventsOf({ operation, page }: Fault): string {
  if (!operation) return isRest(page) ? `calls of ${page}` : 'events'
  return `${isRecordOperation(operation) ? 'calls' : 'events'} of ${operation}`
}

/** Whether it is the path of a call of the REST API. */
const isRest = (page: string): boolean => page.startsWith('/api/v1/')

/** Whether only servers send it, so that no page shows it. */
const isServers = ({ operation, page }: Fault): boolean =>
  isOfServers(operation) || (!operation && isRest(page))

function faultOf({ operation, path }: Fault): string {
  const field = fieldsOf(operation)[path]
  return field
    ? `${path} is ${field.optional ? 'given, but is' : 'missing or'} not ${field.rule}`
    : 'a field is missing or has a wrong value, or the payload is not an object'
}

const supplyOf = (fault: Fault): string =>
  fieldsOf(fault.operation)[fault.path]?.supply ??
  (isServers(fault)
    ? 'Look at the answer to the call, which names the field'
    : 'Compare the call with the types of the helpers')

/** The command that adds an Origin. It replaces the list, so it repeats what the customer allows already. */
const allow = ({ customerId, origins }: Explained, origin: string): string =>
  `npx shoptrail customer set ${customerId} ${[...origins, origin].map((entry) => `--origin ${quote(entry)}`).join(' ')}`

/** A shell would expand a star. */
const quote = (text: string): string => (/^[\w.:/-]+$/.test(text) ? text : `'${text}'`)
