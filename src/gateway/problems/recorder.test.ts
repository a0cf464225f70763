import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, expect, test, vi } from 'vitest'
import { makeFolder } from '../../test/gateway.ts'
import type { Customer } from '../customers/customers.ts'
import { openStore, type Store } from '../sqlite/store.ts'
import { type CountStore, type Fault, OTHER, SLOT_MS, slotOf } from './problems.ts'
import { type ProblemRecorder, type RecorderOptions, startRecorder } from './recorder.ts'

const folder = makeFolder()
let files = 0
const open: { close(): unknown }[] = []
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close()
})
afterAll(() => rmSync(folder, { recursive: true }))

const NOW = 20_000 * 86_400_000 + 50_000_000
const SHOP = {
  customerId: 'shop',
  trackingKey: 'SHOPKEY1',
  origins: ['https://shop.example'],
} as unknown as Customer
const FAULT: Fault = {
  reason: 'refused',
  source: 'gateway',
  operation: 'search',
  path: 'search_term',
  page: '/p',
}

/** A recorder over a real file. `fail` makes its writes fail, before or after they were carried out. */
function start(given: Partial<RecorderOptions> = {}) {
  const store: Store = openStore(join(folder, `${++files}.db`))
  open.push(store)
  let failing: Error | undefined
  const writes: number[] = []
  const counts: CountStore = {
    async write(batch) {
      if (failing) throw failing
      writes.push(batch.problems.length + batch.coverage.length)
      store.writeCounts(batch)
    },
    readProblems: async (...args) => store.readProblems(...args),
    readCoverage: async (...args) => store.readCoverage(...args),
  }
  const errors: unknown[] = []
  const faults: string[] = []
  let monotonic = 0
  const recorder: ProblemRecorder = startRecorder({
    store: counts,
    customers: { list: () => [SHOP] },
    now: () => NOW,
    monotonicNow: () => monotonic,
    onFault: ({ reason, source }, times) => void faults.push(`${reason} ${source} ${times}`),
    onError: (error) => void errors.push(error),
    flushMs: 5,
    ...given,
  })
  open.push(recorder)
  return {
    recorder,
    store,
    errors,
    faults,
    writes,
    fail: (error?: Error) => {
      failing = error
    },
    /** The list, never one that is used again. */
    list: () => {
      monotonic += 1_000
      return recorder.list(SHOP)
    },
    pass: (ms: number) => {
      monotonic += ms
    },
  }
}

test('what can not be stored is kept, reported once, and stored later', async () => {
  const { recorder, errors, fail, list } = start()
  await list()
  fail(new Error('disk full'))
  recorder.count('shop', FAULT, () => '{"a":1}')
  recorder.stored('shop', 'search', NOW)
  await vi.waitFor(() => expect(errors).toHaveLength(1))
  // A list meanwhile is answered with what is stored.
  expect((await list()).data).toEqual([])
  recorder.count('shop', FAULT)
  recorder.stored('shop', 'search', NOW)
  fail()
  const { data, coverage } = await list()
  expect(data).toMatchObject([{ count: 2, example: { a: 1 }, path: 'search_term' }])
  expect(coverage.find(({ operation }) => operation === 'search')?.week).toBe(2)
  expect(errors).toEqual([new Error('disk full')])
})

test('counts are written in small transactions, and nothing is written if nothing was counted', async () => {
  const { recorder, writes, list } = start({ flushMs: 100_000 })
  await list()
  expect(writes).toEqual([0])
  await list()
  expect(writes).toEqual([0])
  for (let i = 0; i < 1_000; i++) recorder.count(`shop-${i}`, { ...FAULT, page: `/${i}` })
  await list()
  expect(writes.slice(1)).toEqual([300, 300, 300, 100])
})

test('an end stores what was counted', async () => {
  const { recorder, store } = start({ flushMs: 100_000 })
  recorder.count('shop', FAULT)
  await recorder.close()
  expect(store.readProblems('shop', 20_000)).toHaveLength(1)
})

test('a list is used again for half a second, so that asking often costs little', async () => {
  const { recorder, pass } = start()
  const first = await recorder.list(SHOP)
  recorder.count('shop', FAULT)
  pass(499)
  expect(await recorder.list(SHOP)).toBe(first)
  pass(1)
  expect((await recorder.list(SHOP)).data).toHaveLength(1)
})

test('a flood with invented Origins hides no other problem, and an answer has at most 200', async () => {
  const { recorder, list, faults } = start()
  recorder.count('shop', FAULT)
  for (let i = 0; i < 20_000; i++)
    recorder.count('shop', { ...FAULT, reason: 'origin', page: `https://${i}.example` })
  const { data } = await list()
  expect(data).toHaveLength(32)
  expect(data.find(({ page }) => page === OTHER)?.count).toBe(20_000 - 30)
  expect(data.find(({ reason }) => reason === 'refused')?.count).toBe(1)
  expect(faults).toHaveLength(20_001)
  for (const reason of ['invalid', 'too_old', 'outbox_full', 'wrong_key', 'too_large'] as const)
    for (const source of ['page', 'gateway'] as const)
      for (let i = 0; i < 40; i++)
        recorder.count('shop', { ...FAULT, reason, source, page: `/${i}` })
  expect((await list()).data).toHaveLength(200)
})

test('a key that no customer has is counted for the owner of the page, with a key that looks like one', async () => {
  const { recorder, list, faults } = start()
  const ask = (key: string, headers: Record<string, string>) =>
    recorder.unknownKey(new Request('https://gateway.example/t/r', { headers }), key)
  ask('OLDKEY12', { origin: 'https://shop.example' })
  ask('OLDKEY12', { referer: 'https://shop.example/p?x=1' })
  ask('jane@mail.example', { origin: 'https://shop.example' })
  ask('OLDKEY12', { origin: 'https://other.example' })
  ask('OLDKEY12', {})
  const { data } = await list()
  expect(data.map(({ path, page, count }) => [path, page, count])).toEqual(
    expect.arrayContaining([
      ['OLDKEY12', 'https://shop.example', 2],
      [undefined, 'https://shop.example', 1],
    ]),
  )
  expect([data.length, faults.length]).toEqual([2, 5])
})

test('operations that have stopped are known for the metrics', async () => {
  const { recorder, store, errors } = start()
  for (let at = NOW - 15 * 86_400_000; at <= NOW; at += SLOT_MS) {
    const row = { customer: 'shop', slot: slotOf(at), events: 9, first: at, last: at }
    const isWorking = at < NOW - 20 * SLOT_MS
    store.writeCounts({
      problems: [],
      coverage: [
        { ...row, operation: 'viewHomepage' },
        ...(isWorking ? [{ ...row, operation: 'addToCart' }] : []),
      ],
      now: at,
    })
  }
  await vi.waitFor(() => expect([...recorder.stopped()]).toEqual([['addToCart', 1]]))
  expect(errors).toEqual([])
})
