import { partitionOf } from '../src/gateway/nats/names.ts'
import { test } from './clusterPair.ts'
import { expect, expectNothingKept, search } from './fixtures.ts'

const terms = (from: number) => Array.from({ length: 10 }, (_, i) => `mug ${from + i}`)

test('the leader of a stream is killed during a visit: each of its events is stored once', async ({
  page,
  pair,
}) => {
  const { cluster, streams } = pair
  const partition = partitionOf('demo', streams.partitions)
  await page.goto(`${pair.url}/shop/`)
  await search(page, ...terms(0))
  await expectNothingKept(page)

  const leader = cluster.nodeOf((await streams.nodes(partition)).leader)
  await cluster.kill(leader)
  try {
    // At once, while there is no leader, and from the next page.
    await search(page, ...terms(10))
    await page.goto(`${pair.url}/shop/category.html?c=ceramics`)
    await search(page, ...terms(20))
    // Two nodes are enough.
    await expectNothingKept(page, 90_000)
  } finally {
    await cluster.start(leader)
  }
  await search(page, ...terms(30))
  await expectNothingKept(page)
  await streams.untilCurrent()

  const stored = (await streams.read()).filter(
    ({ customer, operation, payload }) =>
      customer === 'demo' && operation === 'search' && /"search_term":"mug \d+"/.test(payload),
  )
  const termOf = ({ payload }: { readonly payload: string }) =>
    JSON.parse(payload).search_term as string
  expect(stored.map(termOf).sort()).toEqual(
    [...terms(0), ...terms(10), ...terms(20), ...terms(30)].sort(),
  )
})
