import { Unavailable } from '../lib/unavailable.ts'
import type { Customer, Customers } from './customers.ts'

/** The part of Customers that requests use. */
export type CustomerLookup = Pick<Customers, 'find' | 'findByTrackingKey'>

/** Retry-After if an operator has to act first, seconds. */
const RETRY_SECONDS = 30
/** Retry-After while there are no customers, seconds. Short, since the first customer can be used at once. */
const RETRY_EMPTY_SECONDS = 5

/**
 * Looks customers up for requests. It throws Unavailable, so that the answer is 503 and senders keep their events:
 *
 * - if the customer is not found and customers.db is empty or damaged: the customer may exist
 * - if a part of the customer's row can not be used
 */
export function createCustomerLookup(customers: Customers): CustomerLookup {
  /** The faults that were logged, by customer id: each one is logged once, not with every event. */
  const reported = new Map<string, string>()

  function usable(customer: Customer | undefined): Customer | undefined {
    if (!customer) {
      const fault = customers.fault()
      if (fault) throw new Unavailable(fault, RETRY_EMPTY_SECONDS)
      return undefined
    }
    if (customer.faults.length > 0) throw unusable(customer)
    return customer
  }

  function unusable({ customerId, faults }: Customer): Unavailable {
    const parts = faults.map(({ part }) => part).join(' and ')
    // The reasons may quote what is stored, so only the log has them.
    const message = `The stored ${parts} of this customer can not be used. The operator finds the reason with: npx shoptrail customer list`
    const detail = faults.map(({ part, reason }) => `${part}: ${reason}`).join('; ')
    if (reported.get(customerId) === detail) return new Unavailable(message, RETRY_SECONDS)
    reported.set(customerId, detail)
    return new Unavailable(message, RETRY_SECONDS, new Error(`Customer ${customerId}: ${detail}`))
  }

  return {
    find: (customerId) => usable(customers.find(customerId)),
    findByTrackingKey: (trackingKey) => usable(customers.findByTrackingKey(trackingKey)),
  }
}
