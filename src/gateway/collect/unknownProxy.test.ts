import { expect, test } from 'vitest'
import type { Customer } from '../customers/customers.ts'
import { createAddresses } from '../http/address.ts'
import { completeLimits, DEFAULT_LIMITS } from '../http/limits.ts'
import { createMetrics } from '../http/metrics.ts'
import { createAdmission } from './admission.ts'
import { createQuota } from './quota.ts'

test.each([
  ['whole', '203.0.113.7'],
  ['short', '203.0.113.0'],
  ['none', undefined],
] as const)('a public address is reported as its customer keeps it: %s', (addresses, shown) => {
  const reported: string[] = []
  const customer = { customerId: 'shop', addresses } as Customer
  const admission = createAdmission({
    limits: completeLimits({ address: { events: { perSecond: 0.001, burst: 1 } } }),
    quota: createQuota(DEFAULT_LIMITS.daily, () => 0),
    log: { append: async () => [] },
    metrics: createMetrics(() => 0),
    addresses: createAddresses(),
    monotonicNow: () => 0,
    onUnknownProxy: (peer) => reported.push(peer),
  })
  const request = new Request('http://t.example/t/r', { headers: { via: '1.1 proxy' } })
  for (const sender of [customer, undefined])
    for (let i = 0; i < 3; i++)
      admission.arrive(
        {
          customer: sender,
          isServer: false,
          address: '203.0.113.7',
          request,
          peer: '203.0.113.7',
        },
        0,
      )
  expect(reported).toEqual([shown ?? '203.0.113.0'])
})
