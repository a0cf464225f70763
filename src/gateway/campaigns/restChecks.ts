import type { CustomerLookup } from '../customers/customerLookup.ts'
import { hasRestKey } from '../customers/customers.ts'
import type { KeyThrottle } from '../customers/keyThrottle.ts'
import { invalid, type Refusal } from '../http/answers.ts'

/** What the check needs of the rest of the gateway. */
export type CheckDependencies = {
  readonly customers: CustomerLookup
  readonly keyThrottle: KeyThrottle
}

/** What `check-credentials` asks about, by the name it has there. */
const NAMES = { k: 'the tracking key', r: 'the REST key', u: 'the customer id' }

/**
 * Whether a tracking key, a REST key and a customer id belong together:
 * `{"k": trackingKey, "r": restKey, "u": customerId}`. The faults never show what came: it may be a secret.
 *
 * @param address The sender's.
 * @returns undefined where they do; 422 where one is missing, 404 for a tracking key that nobody has, 401
 * where another one is not that customer's, 429 where too many were not.
 */
export function checkCredentials(
  { customers, keyThrottle }: CheckDependencies,
  body: unknown,
  address: string,
): Refusal | undefined {
  const given = Object(body) as Record<string, unknown>
  const issues = Object.entries(NAMES).flatMap(([path, name]) => {
    const value = Object.hasOwn(given, path) ? given[path] : undefined
    return typeof value === 'string' && value.trim()
      ? []
      : [{ path, message: `Expected ${name}, received none` }]
  })
  if (issues.length > 0) return invalid('The credentials are incomplete', issues)
  const { k, r, u } = given as Record<keyof typeof NAMES, string>
  const customer = customers.findByTrackingKey(k)
  if (!customer) return { ok: false, status: 404, message: 'No customer has this tracking key (k)' }
  // Both are looked at, so that the time does not tell which one is wrong.
  const hasKey = hasRestKey(customer, r)
  if (customer.customerId === u && hasKey) return undefined
  return keyThrottle.refuseWrong(
    address,
    customer.customerId,
    'The tracking key (k), the REST key (r) and the customer id (u) do not belong together',
  )
}
