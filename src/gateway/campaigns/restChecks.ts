import type { CustomerLookup } from '../customers/customerLookup.ts'
import { hasRestKey } from '../customers/customers.ts'
import type { KeyThrottle } from '../customers/keyThrottle.ts'
import { invalid, type Refusal } from '../http/answers.ts'

export type CheckDependencies = {
  readonly customers: CustomerLookup
  readonly keyThrottle: KeyThrottle
}

/** The fields of `check-credentials`. */
const NAMES = { k: 'the tracking key', r: 'the REST key', u: 'the customer id' }

/**
 * Checks whether a tracking key, a REST key and a customer id belong together:
 * `{"k": trackingKey, "r": restKey, "u": customerId}`. Faults do not quote what was sent, since it may be a secret.
 *
 * @param address Of the sender.
 * @returns undefined if they belong together. 422 if one is missing, 404 for an unknown tracking key, 401 if the REST
 * key or the customer id is not that customer's, 429 after too many wrong ones.
 */
export function checkCredentials(
  { customers, keyThrottle }: CheckDependencies,
  body: unknown,
  address: string,
): Refusal | undefined {
  const given = Object(body) as Record<string, unknown>
  const issues = Object.entries(NAMES).flatMap(([path, name]) => {
    const value = Object.hasOwn(given, path) ? given[path] : undefined
    return typeof value === 'string' && value.trim() ? [] : [{ path, message: `Expected ${name}` }]
  })
  if (issues.length > 0) return invalid('The credentials are incomplete', issues)
  const { k, r, u } = given as Record<keyof typeof NAMES, string>
  const customer = customers.findByTrackingKey(k)
  if (!customer) return { ok: false, status: 404, message: 'No customer has this tracking key (k)' }
  // The key is always compared, so that the time does not show which of the two is wrong.
  const hasKey = hasRestKey(customer, r)
  if (customer.customerId === u && hasKey) return undefined
  return keyThrottle.refuseWrong(
    address,
    customer.customerId,
    'The tracking key (k), the REST key (r) and the customer id (u) do not belong together',
  )
}
