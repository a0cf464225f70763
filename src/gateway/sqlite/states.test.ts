import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, expect, test } from 'vitest'
import { upgradeFile } from '../../test/earlierData.ts'
import { makeFolder } from '../../test/gateway.ts'
import { makeLogEvent } from '../../test/logEvents.ts'
import {
  makeOrder,
  makeRandomRecord,
  makeRecord,
  RANDOM_ADDRESSES,
  RANDOM_NUMBERS,
  statesFrom,
} from '../../test/orderRecords.ts'
import type { LogEvent } from '../collect/eventLog.ts'
import { createBackup } from './backup/createBackup.ts'
import { toCells } from './cells.ts'
import { EVENTS_SCHEMA, openStore, type Store } from './store.ts'

/** The states of orders and subscribers in the life of a log. */
const root = makeFolder()
afterAll(() => rmSync(root, { recursive: true }))
let folders = 0

function nextFile() {
  const folder = join(root, String(++folders))
  mkdirSync(folder)
  return { folder, file: join(folder, 'events.db') }
}

/** Every state of the customer, as the store finds it. */
const statesIn = (store: Store) => ({
  orders: new Map(
    RANDOM_NUMBERS.flatMap((number) => {
      const order = store.findOrder('shop', number)
      return order ? [[number, { ...order, digest: new Uint8Array(order.digest) }]] : []
    }),
  ),
  subscribers: new Map(
    RANDOM_ADDRESSES.flatMap((email) => {
      const found = store.findSubscriber('shop', email)
      return found ? [[email, { ...found, digest: new Uint8Array(found.digest) }]] : []
    }),
  ),
})
/** Every state of the customer, as the log says. */
function expectedIn(store: Store) {
  const { orders, subscribers } = statesFrom(store.read({ max: 9_999 }))
  return { orders, subscribers }
}
const countRows = (file: string): number[] => {
  const database = new Database(file, { readonly: true })
  const counts = ['orders', 'subscribers'].map((table) =>
    database.prepare<[], number>(`SELECT count(*) FROM ${table}`).pluck().get(),
  )
  database.close()
  return counts as number[]
}
const sorted = <Value>(states: ReadonlyMap<string, Value>) => new Map([...states].sort())

/** Records and other events, shuffled. */
const makeEvents = (count: number): LogEvent[] =>
  Array.from({ length: count }, (_, i) =>
    i % 3 === 0 ? makeLogEvent({ customer: 'shop' }) : makeRandomRecord('shop'),
  )

function applyAll(store: Store, events: readonly LogEvent[], from = 0): void {
  const seqs = events.map((_, i) => from + i + 1)
  const last = seqs.at(-1) as number
  store.apply({ ...{ after: from, last, seqs }, cells: toCells(events), others: [] })
}

test('a copy has the states of its log, also if it is made again, and a repetition changes nothing', () => {
  const events = makeEvents(300)
  const log = openStore(nextFile().file)
  log.append(toCells(events))
  const expected = expectedIn(log)
  expect(statesIn(log)).toEqual({
    orders: sorted(expected.orders),
    subscribers: sorted(expected.subscribers),
  })
  for (let copies = 0; copies < 2; copies++) {
    const copy = openStore(nextFile().file)
    copy.beginCopy('the log')
    expect(copy.fillStates()).toBe(false)
    applyAll(copy, events.slice(0, 100))
    applyAll(copy, events.slice(100), 100)
    applyAll(copy, events.slice(0, 50), 300)
    expect(statesIn(copy)).toEqual(statesIn(log))
    copy.close()
  }
  log.close()
})

/** Makes the file what the version before had, and stores events as that version did: without states. */
function downgrade(file: string): void {
  const database = new Database(file)
  for (const table of ['orders', 'subscribers', 'state_secret', 'states_to_fill'])
    database.exec(`DROP TABLE ${table}`)
  database.exec('DELETE FROM schema_versions WHERE version > 1; PRAGMA user_version = 1')
  database.close()
}

test('a copy of the version before gets the states of what it has copied', async () => {
  const { file } = nextFile()
  const events = [
    ...makeEvents(300),
    // More than one step.
    ...Array.from({ length: 6_000 }, () => makeLogEvent({ customer: 'shop' })),
    ...makeEvents(300),
  ]
  const before = openStore(file)
  before.beginCopy('the log')
  applyAll(before, events)
  const expected = statesIn(before)
  before.close()
  downgrade(file)
  expect(await upgradeFile(file, EVENTS_SCHEMA)).toBe(true)
  // A process that is killed between two steps continues.
  const killed = openStore(file)
  expect(killed.fillStates()).toBe(true)
  killed.close()
  const copy = openStore(file)
  while (copy.fillStates());
  expect(statesIn(copy)).toEqual(expected)
  const more = makeEvents(50)
  applyAll(copy, more, events.length)
  expect(copy.fillStates()).toBe(false)
  copy.close()
})

test('a log of the version before gets the tables, and goes on', async () => {
  const { file } = nextFile()
  const before = openStore(file)
  before.append(toCells([makeLogEvent()]))
  before.close()
  downgrade(file)
  await upgradeFile(file, EVENTS_SCHEMA)
  const log = openStore(file)
  expect(log.fillStates()).toBe(false)
  log.append(toCells([makeRecord('shop', 'saveOrder', makeOrder('N-1'))]))
  expect(log.findOrder('shop', 'N-1')?.versions).toBe(1)
  log.close()
})

test('a backup has the states, and finds them by the same numbers and addresses', async () => {
  const { folder, file } = nextFile()
  const log = openStore(file)
  log.append(toCells(makeEvents(200)))
  const expected = statesIn(log)
  expect(expected.orders.size).toBeGreaterThan(0)
  const copy = join(folder, 'backup')
  await createBackup({ dataDir: folder, folder: copy, names: ['events.db'], now: Date.now })
  log.close()
  const restored = openStore(join(copy, 'events.db'))
  expect(statesIn(restored)).toEqual(expected)
  restored.close()
})

test('a state is removed with its record, and not with an older one', () => {
  const { file } = nextFile()
  const log = openStore(file)
  log.append(
    toCells([
      makeRecord('shop', 'saveOrder', makeOrder('N-1')),
      makeRecord('shop', 'updateOrderStatus', { order_number: 'N-1', order_status: 'new' }),
      makeRecord('shop', 'addSubscriber', { email: 'anna@example.org' }),
      makeRecord('shop', 'saveOrder', makeOrder('N-1', 2)),
      makeRecord('shop', 'removeSubscriber', { email: 'anna@example.org' }),
      makeRecord('shop', 'updateOrderStatus', { order_number: 'N-1', order_status: 'sent' }),
    ]),
  )
  const [order, subscriber] = [
    () => log.findOrder('shop', 'N-1'),
    () => log.findSubscriber('shop', 'anna@example.org'),
  ]
  const before = [order(), subscriber()]
  log.removeEvents([1, 2, 3])
  expect([order(), subscriber()]).toEqual(before)
  log.removeEvents([4])
  expect(order()).toMatchObject({ versions: 0, seq: 0, status: 'sent', savedAt: 0 })
  log.removeEvents([5])
  expect(subscriber()).toBeUndefined()
  expect(log.listUnsubscribed('shop', { from: 0, to: Date.now() }).addresses).toEqual([])
  log.removeEvents([6])
  expect(order()).toBeUndefined()
  expect(countRows(file)).toEqual([0, 0])

  // The same order once more is a new one.
  log.append(toCells([makeRecord('shop', 'saveOrder', makeOrder('N-1', 2))]))
  expect(order()).toMatchObject({ versions: 1, status: null })
  log.close()
})

test('what a gateway of the version before has removed is not found', () => {
  const { file } = nextFile()
  const log = openStore(file)
  log.append(
    toCells([
      makeRecord('shop', 'saveOrder', makeOrder('N-1')),
      makeRecord('shop', 'removeSubscriber', { email: 'anna@example.org' }),
    ]),
  )
  const database = new Database(file)
  database.exec("UPDATE events SET operation = '', payload = ''")
  database.close()
  expect(log.findOrder('shop', 'N-1')).toBeUndefined()
  expect(log.findSubscriber('shop', 'anna@example.org')).toBeUndefined()
  expect(log.listUnsubscribed('shop', { from: 0, to: Date.now() })).toEqual({ addresses: [] })
  log.close()
})

test('nothing of removed orders and subscribers is in a byte of the folder, whatever order they are removed in', () => {
  const { folder, file } = nextFile()
  const log = openStore(file)
  const mark = (i: number) => `m${String(i).padStart(6, '0')}`
  const numbers = Array.from({ length: 2_000 }, (_, i) => i + 1)
  log.append(
    toCells(
      numbers.map((i) =>
        i % 2
          ? makeRecord('shop', 'saveOrder', {
              ...makeOrder(`number-${mark(i)}`),
              ...{ email_address: `${mark(i)}@mail.test`, firstname: mark(i), phone: mark(i) },
              address: `Street ${mark(i)}`,
            })
          : makeRecord('shop', 'removeSubscriber', { email: `${mark(i)}@mail.test` }),
      ),
    ),
  )
  const removed = numbers.filter((i) => i % 7 < 3)
  for (let i = 0; i < removed.length; i += 100) log.removeEvents(removed.slice(i, i + 100))
  expect(log.clearWal()).toBe(true)
  const left = new Set<string>()
  for (const name of readdirSync(folder))
    for (const [found] of readFileSync(join(folder, name), 'latin1').matchAll(/m\d{6}/g))
      left.add(found)
  expect([...left].sort()).toEqual(numbers.filter((i) => !removed.includes(i)).map(mark))
  log.close()
})
