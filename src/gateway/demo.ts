import type { Customers } from './customers.ts'
import { LOOPBACK_ORIGINS } from './origins.ts'

/** The customer that a newcomer finds: known by name, open to pages of the machine itself. */
export const DEMO_CUSTOMER_ID = 'demo'
export const DEMO_TRACKING_KEY = 'DEMOSHOP'

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
