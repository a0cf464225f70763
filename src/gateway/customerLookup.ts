import type { Customer, Customers } from './customers.ts'
import { Unavailable } from './eventLog.ts'

/** How requests look up whom they are for. */
export type CustomerLookup = Pick<Customers, 'find' | 'findByTrackingKey'>

/** When to ask again where an operator has to do something first, seconds. */
const RETRY_SECONDS = 30
/** When to ask again where there is no customer yet: the first one is usable at once. */
const RETRY_EMPTY_SECONDS = 5

/**
 * The look-up of a gateway. A customer that is not found because data is missing is no unknown customer, and one
 * whose row can not be used is not served with half of it: both throw Unavailable, which is answered 503, so
 * that senders keep what they have.
 */
export function createCustomerLookup(customers: Customers): CustomerLookup {
  /** Faults that were reported as a cause, and so logged: once each, not with every event. */
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
    // Without the reasons: they may repeat what is stored.
    const message = `The stored ${parts} of this customer can not be used. Its operator sees why: npx shoptrail customer list`
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
