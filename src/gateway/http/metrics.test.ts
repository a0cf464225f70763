import { expect, test } from 'vitest'
import { createMetrics } from './metrics.ts'

test('problems and stopped operations are counted by names of bounded lists', async () => {
  let stopped = new Map([
    ['addToCart', 2],
    ['search', 1],
  ])
  const metrics = createMetrics(
    () => 0,
    () => stopped,
  )
  metrics.problem('invalid', 'page', 3)
  metrics.problem('invalid', 'page', 1)
  metrics.problem('origin', 'gateway', 1)
  const lines = async () =>
    (await metrics.render()).text
      .split('\n')
      .filter((line) => /^(problems_total|operations_stopped)/.test(line))
  expect(await lines()).toEqual([
    'problems_total{reason="invalid",source="page"} 4',
    'problems_total{reason="origin",source="gateway"} 1',
    'operations_stopped{operation="addToCart"} 2',
    'operations_stopped{operation="search"} 1',
  ])
  // One that comes again is no longer listed.
  stopped = new Map([['search', 1]])
  expect((await lines()).slice(2)).toEqual(['operations_stopped{operation="search"} 1'])
})
