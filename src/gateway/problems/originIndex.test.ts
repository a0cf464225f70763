import { expect, test } from 'vitest'
import type { Customers } from '../customers/customers.ts'
import { allowsOrigin } from '../http/origins.ts'
import { createOriginIndex, originOf } from './originIndex.ts'

const ORIGINS: Readonly<Record<string, readonly string[]>> = {
  plain: ['https://shop.example', 'https://www.shop.example'],
  subdomains: ['https://*.shop.example'],
  port: ['http://shop.example:8080'],
  local: ['loopback', 'null'],
  none: [],
}
const customers = {
  list: () => Object.entries(ORIGINS).map(([customerId, origins]) => ({ customerId, origins })),
} as unknown as Pick<Customers, 'list'>

test.each([
  'https://shop.example',
  'https://www.shop.example',
  'https://a.b.shop.example',
  'http://shop.example',
  'http://shop.example:8080',
  'http://localhost:3000',
  'http://[::1]',
  'https://evilshop.example',
  'https://other.example',
  'https://shop.example.evil.example',
  'ftp://shop.example',
  '',
])('the owners of %j are the customers that allow it', (origin) => {
  const expected = Object.entries(ORIGINS).flatMap(([id, origins]) =>
    allowsOrigin(origins, origin) ? [id] : [],
  )
  expect(createOriginIndex(customers, () => 0)(origin)).toEqual(expected)
})

test('an origin that many customers allow has no owner', () => {
  const shared = (count: number) =>
    createOriginIndex(
      {
        list: () =>
          Array.from({ length: count }, (_, i) => ({ customerId: `${i}`, origins: ['loopback'] })),
      } as unknown as Pick<Customers, 'list'>,
      () => 0,
    )
  expect(shared(3)('http://localhost')).toHaveLength(3)
  expect(shared(4)('http://localhost')).toEqual([])
})

test('however often it is asked, the customers are read once a minute', () => {
  let reads = 0
  let now = 0
  const counted = {
    list() {
      reads++
      return customers.list()
    },
  }
  const findOwners = createOriginIndex(counted, () => now)
  for (let i = 0; i < 1_000; i++) findOwners(`https://${i}.shop.example`)
  expect(reads).toBe(1)
  now = 60_000
  findOwners('https://shop.example')
  expect(reads).toBe(2)
})

test.each([
  [{ origin: 'https://a.example', referer: 'https://b.example/' }, 'https://a.example'],
  [{ referer: 'https://b.example/p?x=1' }, 'https://b.example'],
  [{ origin: 'null', referer: 'https://b.example/' }, 'https://b.example'],
  [{ referer: 'about:blank' }, ''],
  [{}, ''],
])('%j is a request of %j', (headers, expected) => {
  expect(originOf(new Request('https://gateway.example/t/j/X', { headers }))).toBe(expected)
})
