import { expect, test } from 'vitest'
import type { CountBatch, CoverageCount } from '../problems/problems.ts'
import { createNatsCounts } from './counts.ts'
import { decodeCounts } from './countsMessage.ts'

const SLOT = 3_000_000
const NOW = SLOT * 600_000
const coverage = (customer: string): CoverageCount => ({
  ...{ customer, operation: 'search', slot: SLOT, events: 1, first: NOW, last: NOW },
})
const batch = (customers: readonly string[], now = NOW): CountBatch => ({
  ...{ problems: [], coverage: customers.map(coverage), now },
})

/** Counts over two partitions. The customer a is in the first one, every other in the second. */
function prepare() {
  const streams: CountBatch[][] = [[], []]
  const ids = new Set<string>()
  const asked: unknown[] = []
  let isAway = false
  let losesAnswers = false
  const counts = createNatsCounts(
    { js: {} as never, partitions: 2, partitionOf: (customer) => (customer === 'a' ? 0 : 1) },
    (async (...args: unknown[]) => void asked.push(args)) as never,
    async ({ id, partition, data }) => {
      if (isAway) throw new Error('timeout')
      const stream = streams[partition] as CountBatch[]
      // A stream does not store the same id twice.
      if (!ids.has(id)) stream.push(decodeCounts(data, NOW))
      ids.add(id)
      if (losesAnswers) throw new Error('timeout')
      return stream.length
    },
  )
  return {
    ...{ counts, asked },
    away(is: boolean) {
      isAway = is
    },
    lost(is: boolean) {
      losesAnswers = is
    },
    /** The customers that each stream has counts of. */
    stored: () => streams.map((all) => all.map((one) => one.coverage.map((row) => row.customer))),
  }
}

test('the stream of each partition gets its counts, and in each slot that a gateway runs', async () => {
  const { counts, stored } = prepare()
  await counts.write(batch(['b']))
  expect(stored()).toEqual([[[]], [['b']]])
  await counts.write(batch(['a', 'b', 'c']))
  expect(stored()).toEqual([
    [[], ['a']],
    [['b'], ['b', 'c']],
  ])
  await counts.write(batch([], NOW + 1_000))
  expect(stored()).toEqual([
    [[], ['a']],
    [['b'], ['b', 'c']],
  ])
  await counts.write(batch([], NOW + 600_000))
  expect(stored()).toEqual([
    [[], ['a'], []],
    [['b'], ['b', 'c'], []],
  ])
  counts.close()
})

test('a batch whose answer is lost counts once, and the next one is stored after it', async () => {
  const { counts, stored, lost } = prepare()
  lost(true)
  await counts.write(batch(['a']))
  await expect(counts.write(batch(['a', 'b']))).rejects.toMatchObject({ name: 'Unavailable' })
  expect(stored()).toEqual([[['a']], [[]]])
  lost(false)
  await counts.write(batch(['a', 'b']))
  expect(stored()).toEqual([
    [['a'], ['a']],
    [[], ['b']],
  ])
  counts.close()
})

test('a batch that can not be published is published later, by itself', async () => {
  const { counts, stored, away, asked } = prepare()
  away(true)
  await counts.write(batch(['a']))
  expect(stored()).toEqual([[], []])
  away(false)
  await expect.poll(stored, { timeout: 60_000 }).toEqual([[['a']], [[]]])
  await counts.readProblems('a', 20_000)
  await counts.readCoverage('b', NOW)
  // With the sequence that the copy must have reached.
  expect(asked).toEqual([
    [0, 'readProblems', ['a', 20_000, 1]],
    [1, 'readCoverage', ['b', NOW, 1]],
  ])
  counts.close()
})
