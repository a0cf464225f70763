import { LOOPBACK_ORIGINS } from '../http/origins.ts'
import type { Customers } from './customers.ts'

/** The customer that a newcomer finds: known by name, open to pages of the machine itself. */
export const DEMO_CUSTOMER_ID = 'demo'
export const DEMO_TRACKING_KEY = 'DEMOSHOP'

/** Why the demo can not have its customer; undefined where it can. */
export const findRetiredDemo = (customers: Customers): string | undefined =>
  customers.isRetired(DEMO_CUSTOMER_ID)
    ? `the customer ${DEMO_CUSTOMER_ID} was removed, and its id can not be used again. Another DATA_DIR gets a new one`
    : undefined

/** Makes the demo customer where it is missing; answers its restKey if it did. */
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
