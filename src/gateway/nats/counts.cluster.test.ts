import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { takeAccount } from '../../test/sharedCluster.ts'
import { dayOf } from '../customers/usage.ts'
import { slotOf } from '../problems/problems.ts'
import { openStore, type Store } from '../sqlite/store.ts'
import type { Answers } from './answers.ts'
import { createAsk, serveAnswers } from './ask.ts'
import { type Broker, connectBroker } from './broker.ts'
import { createNatsCounts } from './counts.ts'
import { decodeCounts } from './countsMessage.ts'
import type { TaskContext } from './follower/task.ts'
import { startProblems } from './follower/tasks/problems.ts'
import { streamOf } from './names.ts'

/** Two gateways. */
let brokers: [Broker, Broker]
let folder: string
beforeAll(async () => {
  const account = { ...takeAccount(), partitions: 1 }
  const first = await connectBroker(account)
  brokers = [first, await connectBroker(account)]
  folder = mkdtempSync(join(tmpdir(), 'shoptrail-'))
})
afterAll(async () => {
  await Promise.all(brokers.map((broker) => broker.close()))
  rmSync(folder, { recursive: true })
})

const NOW = Date.UTC(2026, 0, 1)
const FAULT = {
  ...{ customer: 'demo', reason: 'invalid' as const, source: 'page' as const, operation: 'search' },
  ...{ path: 'term', page: '/a', day: dayOf(NOW), first: NOW, last: NOW, example: null },
}
const SEARCH = { customer: 'demo', operation: 'search', slot: slotOf(NOW), first: NOW, last: NOW }

test('the counts of two gateways add up, and each reads at least what it has written', async () => {
  const store = openStore(join(folder, 'events.db'))
  /** Applies the messages of the stream, as a copy does. */
  async function reach(sequence: number): Promise<void> {
    for (; position < sequence; position++) {
      const stored = await brokers[0].jsm.streams.getMessage(streamOf(0), { seq: position + 1 })
      if (stored) store.writeCounts(decodeCounts(stored.data, stored.time.getTime()))
    }
  }
  let position = 0
  const call = async (name: keyof Store, ...args: unknown[]) =>
    (store[name] as (...args: unknown[]) => unknown)(...args)
  const errors: unknown[] = []
  const task = await startProblems({ copy: { thread: { call }, reach } } as unknown as TaskContext)
  const stop = serveAnswers(brokers[0].nc, 0, task.answers as Answers, (error) =>
    errors.push(error),
  )
  const [one, other] = brokers.map((broker) => createNatsCounts(broker, createAsk(broker.nc))) as [
    ReturnType<typeof createNatsCounts>,
    ReturnType<typeof createNatsCounts>,
  ]
  const now = NOW
  await one.write({
    problems: [{ ...FAULT, count: 2 }],
    coverage: [{ ...SEARCH, events: 5 }],
    now,
  })
  await other.write({
    problems: [{ ...FAULT, count: 3, example: '{}' }],
    coverage: [{ ...SEARCH, events: 7 }],
    now: now + 600_000,
  })
  expect(await other.readProblems('demo', dayOf(NOW))).toEqual([
    { ...FAULT, count: 5, example: '{}' },
  ])
  const { observed, events, since } = await one.readCoverage('demo', now + 600_000)
  expect(since).toBe(NOW)
  // A slot counts as observed if any gateway ran in it.
  expect(observed.slice(-2)).toEqual([1, 1])
  expect(events.get('search')?.slice(-2)).toEqual([12, 0])
  expect(await one.readProblems('nobody', dayOf(NOW))).toEqual([])
  one.close()
  other.close()
  stop()
  store.close()
  expect(errors).toEqual([])
})
