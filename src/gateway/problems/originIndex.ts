import type { Customers } from '../customers/customers.ts'
import { isLoopbackHost, LOOPBACK_ORIGINS } from '../http/origins.ts'
import type { RequestHead } from '../http/requestHead.ts'

/** How long the index is used before the customers are read again, ms. */
const MAX_AGE_MS = 60_000
/** An origin that more customers allow says nothing about whose page it is. */
const MAX_OWNERS = 3

/**
 * Finds the customers that allow an origin. A stranger can ask as often as it wants, so the customers are read at most
 * once a minute, and a look-up costs a few steps however many customers there are.
 *
 * @param now A monotonic clock, ms.
 */
export function createOriginIndex(customers: Pick<Customers, 'list'>, now: () => number) {
  let owners = new Map<string, Set<string>>()
  let madeAt = Number.NEGATIVE_INFINITY

  function renew(): void {
    if (now() - madeAt < MAX_AGE_MS) return
    madeAt = now()
    owners = new Map()
    for (const { customerId, origins } of customers.list())
      for (const origin of origins) {
        const known = owners.get(origin) ?? new Set()
        owners.set(origin, known.add(customerId))
      }
  }

  /** @returns Ids of the customers. None if they are too many. */
  return function findOwners(origin: string): readonly string[] {
    renew()
    const found = new Set(
      namesOf(origin).flatMap((name) => [...(owners.get(name) ?? [])].slice(0, MAX_OWNERS + 1)),
    )
    return found.size > MAX_OWNERS ? [] : [...found]
  }
}

/** The entries of a customer's list that allow an origin. See allowsOrigin. */
function namesOf(origin: string): string[] {
  const [, scheme = '', host = ''] = /^(https?:\/\/)([^/?#@\s]{1,260})$/.exec(origin) ?? []
  if (!host) return []
  const labels = host.split('.')
  const patterns = labels.slice(1, 12).map((_, i) => `${scheme}*.${labels.slice(i + 1).join('.')}`)
  const isLoopback = isLoopbackHost(host.replace(/:\d+$/, ''))
  return [origin, ...patterns, ...(isLoopback ? [LOOPBACK_ORIGINS] : [])]
}

/** The origin of a page that has sent a request: its Origin, else the one of its Referer. Empty if there is none. */
export function originOf({ headers }: RequestHead): string {
  const origin = headers.get('origin')
  if (origin && origin !== 'null') return origin
  return /^https?:\/\/[^/?#\s]{1,260}/i.exec(headers.get('referer') ?? '')?.[0] ?? ''
}
