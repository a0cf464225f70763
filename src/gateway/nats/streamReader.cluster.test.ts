import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { makeLogEvent } from '../../test/logEvents.ts'
import { takeAccount } from '../../test/sharedCluster.ts'
import type { EventLog } from '../collect/eventLog.ts'
import { createAsk } from './ask.ts'
import { type Broker, connectBroker } from './broker.ts'
import { createNatsLog } from './eventLog.ts'
import { encodeEvent } from './eventMessage.ts'
import { eventSubject, removedSubject, streamOf } from './names.ts'

const PATIENCE = { timeout: 60_000, interval: 20 }
let broker: Broker
let log: EventLog

beforeAll(async () => {
  broker = await connectBroker({ ...takeAccount(), partitions: 1, replicas: 1 })
  log = createNatsLog({ broker, ask: createAsk(broker.nc) })
})
afterAll(async () => {
  await log.close()
  await broker.close()
})

const append = (customer: string, count: number) =>
  log.append(Array.from({ length: count }, () => makeLogEvent({ customer })))
const tailOf = async (customer: string, max: number) => {
  const { after } = await log.findTail(customer, max)
  return (await log.read({ customer, after, max: 9_999 })).length
}

test('the tail of a customer is found among many events of others', async () => {
  await append('rare', 30)
  await append('busy', 2_000)
  await append('rare', 30)
  await append('busy', 500)
  expect(await tailOf('rare', 20)).toBe(20)
  expect(await tailOf('rare', 30)).toBe(30)
  expect(await tailOf('rare', 45)).toBe(45)
  expect(await tailOf('busy', 400)).toBe(400)
  expect(await tailOf('busy', 501)).toBe(501)
})

test('a tail that begins within thousands of events of one moment may be shorter', async () => {
  await append('burst', 1)
  await append('other', 3_000)
  await append('burst', 4_000)
  const found = await tailOf('burst', 200)
  expect(found).toBeGreaterThan(0)
  expect(found).toBeLessThanOrEqual(200)
})

test('an id that the stream has twice is read once', async () => {
  const event = makeLogEvent({ customer: 'twice' })
  const data = encodeEvent(event)
  // Without a message id, as after the duplicate window.
  for (let i = 0; i < 2; i++) await broker.js.publish(eventSubject(0, 'twice'), data)
  await broker.js.publish(eventSubject(0, 'twice'), 'not an event')
  await append('twice', 1)
  const records = await log.read({ customer: 'twice', max: 9 })
  expect(records.map(({ id }) => id === event.id)).toEqual([true, false])
})

test('a watched customer is read from memory, except what does not fit and what was erased', async () => {
  let after = 0
  const seen: string[] = []
  const calls: boolean[] = []
  let reading = Promise.resolve()
  const undo = log.subscribe((customers) => {
    calls.push(customers !== undefined)
    reading = reading.then(async () => {
      for (const { id, seq } of await log.read({ customer: 'watched', after, max: 50 })) {
        seen.push(id)
        after = seq
      }
    })
  }, 'watched')
  await vi.waitFor(() => expect(calls).toHaveLength(1), PATIENCE)
  const events = Array.from({ length: 1_000 }, () => makeLogEvent({ customer: 'watched' }))
  await log.append(events.slice(0, 900))
  for (const event of events.slice(900)) await log.append([event])
  await vi.waitFor(async () => {
    await reading
    const rest = await log.read({ customer: 'watched', after, max: 9_999 })
    expect([...seen, ...rest.map(({ id }) => id)]).toEqual(events.map(({ id }) => id))
  }, PATIENCE)

  const { newest } = await log.findTail('watched', 1)
  await broker.jsm.streams.deleteMessage(streamOf(0), newest)
  await broker.js.publish(removedSubject(0, 'watched'), '')
  await vi.waitFor(() => expect(calls).toContain(false), PATIENCE)
  expect(await log.read({ customer: 'watched', after: newest - 1, max: 9 })).toEqual([])
  undo()
})

test('a full stream refuses events, says so, and takes them again when there is room', async () => {
  const { config } = await broker.jsm.streams.info(streamOf(0))
  await broker.jsm.streams.update(streamOf(0), { ...config, max_bytes: 1_000 })
  await expect(append('full', 1)).rejects.toMatchObject({
    name: 'Unavailable',
    message: expect.stringContaining('The event log is full (maximum bytes exceeded)'),
  })
  // The cluster works, so the gateway stays ready.
  expect(log.health()).toEqual({ writable: true })
  await broker.jsm.streams.update(streamOf(0), config)
  expect(await append('full', 1)).toEqual(['stored'])
})

test('the events of all customers together can not be read', async () => {
  await expect(log.read({ max: 1 })).rejects.toThrow('is read by customer')
})
