import { LOOPBACK_ORIGINS } from '../http/origins.ts'
import type { Customers } from './customers.ts'

/** The customer of the demo. Its keys are public, and only pages of this machine may send its events. */
export const DEMO_CUSTOMER_ID = 'demo'
export const DEMO_TRACKING_KEY = 'DEMOSHOP'

/** Why the demo customer can not be created. Undefined if it can. */
export const findRetiredDemo = (customers: Customers): string | undefined =>
  customers.isRetired(DEMO_CUSTOMER_ID)
    ? `The demo is off, because the customer ${DEMO_CUSTOMER_ID} was removed and its id can not be used again. To get the demo, set another DATA_DIR`
    : undefined

/** Creates the demo customer if it is missing. Returns the REST key of the new customer. */
export function addDemoCustomer(customers: Customers): string | undefined {
  if (customers.find(DEMO_CUSTOMER_ID)) return undefined
  const { restKey } = customers.add({
    customerId: DEMO_CUSTOMER_ID,
    trackingKey: DEMO_TRACKING_KEY,
    name: 'Demo shop',
    origins: [LOOPBACK_ORIGINS],
  })
  return restKey
}
