import type { CustomerLookup } from '../customers/customerLookup.ts'
import { type Customer, hasRestKey } from '../customers/customers.ts'
import type { KeyThrottle } from '../customers/keyThrottle.ts'
import type { Addresses } from '../http/address.ts'
import type { Refusal } from '../http/answers.ts'
import { allowsOrigin } from '../http/origins.ts'
import type { Query } from '../http/query.ts'
import type { RequestHead } from '../http/requestHead.ts'
import { shownOrigin } from '../problems/pagePath.ts'
import type { Problems } from '../problems/recorder.ts'

/** A page of the customer, or a server with the REST key that sends for its visitor. */
export type Sender = { readonly ok: true; readonly customer: Customer; readonly isServer: boolean }

/** A refusal for wrong credentials. `count` counts it as a problem, if it is known whose. */
export type Denial = Refusal & { readonly count?: () => void }

export type IdentifyDependencies = {
  readonly customers: CustomerLookup
  readonly addresses: Addresses
  readonly keyThrottle: KeyThrottle
  readonly problems: Problems
}

/**
 * Finds the sender of events: a server by its REST key, or a page by an Origin that the customer allows
 * (docs/decisions.md, "Credentials").
 *
 * @returns A function of a request, whose last parameter is the path of the call, such as `/t/r`.
 */
export function createIdentify(dependencies: IdentifyDependencies) {
  const { customers, addresses, keyThrottle, problems } = dependencies

  return function identify(
    query: Query,
    request: RequestHead,
    peer: string,
    call: string,
  ): Sender | Denial {
    const trackingKey = query('k')
    if (!trackingKey) return { ok: false, status: 401, message: 'The tracking key (k) is missing' }
    const customer = customers.findByTrackingKey(trackingKey)
    if (!customer)
      return {
        ok: false,
        status: 404,
        message: 'No customer has this tracking key',
        count: () => problems.unknownKey(request, trackingKey),
      }
    const { customerId } = customer
    const fault = { source: 'gateway', operation: '', page: call } as const
    const restKey = query('api_key')
    if (restKey) {
      if (hasRestKey(customer, restKey)) return { ok: true, customer, isServer: true }
      const address = addresses.visitor(request, peer)
      return {
        ...keyThrottle.refuseWrong(address, customerId, 'The REST key (api_key) is wrong'),
        count: () => problems.count(customerId, { ...fault, reason: 'wrong_key', path: 'api_key' }),
      }
    }
    const origin = request.headers.get('origin')
    if (!origin)
      return {
        ok: false,
        status: 401,
        message: 'Expected an Origin, or the REST key (api_key) of a server',
        count: () => problems.count(customerId, { ...fault, reason: 'wrong_key', path: 'origin' }),
      }
    return allowsOrigin(customer.origins, origin)
      ? { ok: true, customer, isServer: false }
      : {
          ok: false,
          status: 403,
          message: 'This Origin is not one that the customer allows',
          count: () =>
            problems.count(customerId, {
              ...fault,
              reason: 'origin',
              path: '',
              page: shownOrigin(origin),
            }),
        }
  }
}
