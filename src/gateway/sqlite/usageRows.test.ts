import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { makeFolder } from '../../test/gateway.ts'
import type { LogEvent } from '../collect/eventLog.ts'
import { dayOf } from '../customers/usage.ts'
import { toCells } from './cells.ts'
import { openDatabase } from './database.ts'
import { openStore } from './store.ts'

const folder = makeFolder()
let files = 0
afterAll(() => rmSync(folder, { recursive: true }))

const nextFile = () => join(folder, `${++files}.db`)
const NOON = Date.UTC(2026, 10, 28, 12)
const DAY_MS = 86_400_000
const TODAY = dayOf(NOON)

const makeEvent = (given: Partial<LogEvent> = {}): LogEvent => ({
  customer: 'a',
  id: randomUUID(),
  at: NOON,
  receivedAt: NOON,
  operation: 'search',
  event: 'search',
  did: 'd',
  bot: false,
  version: null,
  payload: '{"ă":1}',
  ...given,
})

test('each customer’s day is summed, over commits and files that are opened again', () => {
  const file = nextFile()
  const store = openStore(file)
  const append = (...events: LogEvent[]) => store.append(toCells(events)).usage
  expect(append(makeEvent(), makeEvent({ customer: 'b' }), makeEvent())).toEqual([
    { customer: 'a', day: TODAY, isServer: false, events: 2, bytes: 16 },
    { customer: 'b', day: TODAY, isServer: false, events: 1, bytes: 8 },
  ])
  expect(append(makeEvent())).toEqual([
    { customer: 'a', day: TODAY, isServer: false, events: 3, bytes: 24 },
  ])
  store.close()
  const again = openStore(file)
  expect(again.usage()).toEqual([
    { customer: 'a', day: TODAY, isServer: false, events: 3, bytes: 24 },
    { customer: 'b', day: TODAY, isServer: false, events: 1, bytes: 8 },
  ])
  again.close()
})

test('what only servers can send is summed apart', () => {
  const store = openStore(nextFile())
  const order = makeEvent({ operation: 'saveOrder', payload: '{"number":"1"}', did: null })
  const custom = makeEvent({ operation: 'sendCustomApi', did: null })
  expect(store.append(toCells([makeEvent(), order, custom, makeEvent()])).usage).toEqual([
    { customer: 'a', day: TODAY, isServer: false, events: 2, bytes: 16 },
    { customer: 'a', day: TODAY, isServer: true, events: 2, bytes: 22 },
  ])
  const texts = { type: 'email', status: 'scheduled', sendAt: '', name: '', subjectLine: '' }
  const campaign = { customer: 'a', id: '1', createdAt: NOON, ...texts }
  const content = Buffer.from('{}')
  expect(store.createCampaign({ ...campaign, summary: '{}', content })).toEqual([
    { customer: 'a', day: TODAY, isServer: true, events: 2, bytes: 26 },
  ])
  expect(store.usage()).toHaveLength(2)
  store.append(toCells([makeEvent({ receivedAt: NOON + 2 * DAY_MS })]))
  expect(store.usage()).toMatchObject([{ day: TODAY + 2, events: 1 }])
  store.close()
})

test('an id that is already stored does not count', () => {
  const store = openStore(nextFile())
  const event = makeEvent()
  expect(store.append(toCells([event, event])).usage).toMatchObject([{ events: 1, bytes: 8 }])
  expect(store.append(toCells([event]))).toEqual({ positions: [0], usage: [] })
  store.close()
})

test('events of a failed commit do not count, neither then nor with the next commit', () => {
  const file = nextFile()
  const store = openStore(file)
  const broken = openDatabase(file)
  broken.exec(
    `CREATE TRIGGER t BEFORE INSERT ON events WHEN NEW.event = 'bad' BEGIN SELECT RAISE(ABORT, 'no'); END`,
  )
  broken.close()
  expect(() => store.append(toCells([makeEvent(), makeEvent({ event: 'bad' })]))).toThrow('no')
  expect(store.usage()).toEqual([])
  expect(store.append(toCells([makeEvent()])).usage).toMatchObject([{ events: 1 }])
  store.close()
})

test('a day is a UTC day, and only today and yesterday are kept', () => {
  const store = openStore(nextFile())
  const midnight = TODAY * DAY_MS
  for (const receivedAt of [midnight - 2 * DAY_MS, midnight - 1, midnight, midnight + DAY_MS - 1])
    store.append(toCells([makeEvent({ receivedAt })]))
  expect(store.usage()).toMatchObject([
    { day: TODAY - 1, events: 1 },
    { day: TODAY, events: 2 },
  ])
  store.append(toCells([makeEvent({ receivedAt: midnight + DAY_MS })]))
  expect(store.usage()).toMatchObject([
    { day: TODAY, events: 2 },
    { day: TODAY + 1, events: 1 },
  ])
  store.close()
})
