import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { makeFolder } from '../../test/gateway.ts'
import type { LogEvent } from '../collect/eventLog.ts'
import { toCells } from './cells.ts'
import type { CopyBatch } from './copying.ts'
import { openStore, type Store } from './store.ts'

const folder = makeFolder()
afterAll(() => rmSync(folder, { recursive: true }))
let files = 0

function open(): Store {
  const store = openStore(join(folder, `${++files}.db`))
  store.beginCopy('the log')
  return store
}

const makeEvent = (id: string = randomUUID()): LogEvent => ({
  customer: 'demo',
  id,
  at: 1,
  receivedAt: Date.now(),
  operation: 'search',
  event: 'search',
  did: null,
  bot: false,
  version: null,
  payload: '{}',
})

/** A batch of these events, with these sequences. */
const batch = (after: number, seqs: readonly number[], events: LogEvent[]): CopyBatch => ({
  ...{ after, seqs, cells: toCells(events), others: [] },
  last: seqs.at(-1) as number,
})
const stored = (store: Store) => store.read({ max: 99 }).map(({ seq, id }) => ({ seq, id }))
const counted = (store: Store) => store.usage().map(({ events }) => events)

test('the positions are the sequences of the log, with its gaps', () => {
  const store = open()
  expect(store.copied()).toEqual({ source: 'the log', last: 0 })
  const [one, two] = [makeEvent(), makeEvent()]
  const { last, usage } = store.apply(batch(0, [3, 7], [one, two]))
  expect(last).toBe(7)
  expect(usage).toMatchObject([{ customer: 'demo', events: 2, bytes: 4 }])
  expect(stored(store)).toEqual([
    { seq: 3, id: one.id },
    { seq: 7, id: two.id },
  ])
  expect(store.copied()?.last).toBe(7)
  store.close()
})

test('an id that comes again, in another case, is neither stored nor counted', () => {
  const store = open()
  const one = makeEvent()
  store.apply(batch(0, [1], [one]))
  const { last, usage } = store.apply(batch(1, [2], [makeEvent(one.id.toUpperCase())]))
  expect({ last, usage }).toEqual({ last: 2, usage: [] })
  expect(stored(store)).toHaveLength(1)
  expect(counted(store)).toEqual([1])
  store.close()
})

test('messages that another process has applied are left out', () => {
  const store = open()
  const events = [makeEvent(), makeEvent(), makeEvent()]
  store.apply(batch(0, [1, 2], events.slice(0, 2)))
  expect(store.apply(batch(0, [1, 2], events.slice(0, 2)))).toEqual({ last: 2, usage: [] })
  expect(store.apply(batch(1, [2, 3], events.slice(1))).last).toBe(3)
  expect(stored(store)).toHaveLength(3)
  expect(counted(store)).toEqual([3])
  store.close()
})

test('a batch after a gap that the copy does not have is refused', () => {
  const store = open()
  expect(store.apply(batch(4, [5], [makeEvent()]))).toEqual({ last: 0, usage: [] })
  expect(stored(store)).toEqual([])
  store.close()
})

test('only an empty file becomes a copy', () => {
  const store = openStore(join(folder, 'log.db'))
  expect(store.copied()).toBeUndefined()
  store.append(toCells([makeEvent()]))
  expect(() => store.beginCopy('the log')).toThrow('empty')
  store.close()
})
