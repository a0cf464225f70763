import { randomUUID } from 'node:crypto'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeFolder } from '../test/gateway.ts'
import { takeAccount } from '../test/sharedCluster.ts'
import type { LogEvent } from './collect/eventLog.ts'
import { type ExportOptions, prepareExport } from './exportCommand.ts'
import { type Broker, connectBroker } from './nats/broker.ts'
import { encodeEvent } from './nats/eventMessage.ts'
import { eventSubject, removedSubject } from './nats/names.ts'
import { encodeRemoved } from './nats/removedMessage.ts'
import { readSettings } from './settings.ts'

/** `shoptrail export` from a cluster. */
const account = takeAccount()
const folder = makeFolder()
let broker: Broker
beforeAll(async () => {
  broker = await connectBroker({ ...account, partitions: 1 })
})
afterAll(async () => {
  await broker.close()
  rmSync(folder, { recursive: true })
})

/** A broker stores events after they have arrived. */
const YESTERDAY = Date.now() - 86_400_000
const COUNT = 2_500

const event = (number: number, fields: Partial<LogEvent> = {}): LogEvent => ({
  ...{ customer: 'shop', id: randomUUID(), at: YESTERDAY + number, receivedAt: YESTERDAY + number },
  ...{ operation: 'search', event: `${number}`, did: null, bot: false, version: null },
  payload: JSON.stringify({ number, text: 'é"\n漢' }),
  ...fields,
})

/** Without message ids, as if the duplicate window was over. */
async function publish(events: readonly LogEvent[]): Promise<void> {
  await Promise.all(
    events.map((one) => broker.js.publish(eventSubject(0, one.customer), encodeEvent(one))),
  )
}

async function run(options: ExportOptions, isStopped = false) {
  const env = {
    ENGINE: `nats://${account.servers.join(',')}`,
    NATS_USER: account.user,
    NATS_PASSWORD: account.password,
    NATS_PARTITIONS: '1',
  }
  const read = readSettings(env, {})
  if (!read.ok) throw new Error(read.message)
  const chunks: Uint8Array[] = []
  const stop = new AbortController()
  if (isStopped) stop.abort()
  const work = prepareExport({ customer: 'shop', ...options }, read.settings, {
    stdout: new Writable({
      write(chunk, _, done) {
        chunks.push(chunk)
        done()
      },
    }),
    report() {},
    signal: stop.signal,
    groupRecords: 400,
  })
  if (typeof work !== 'function') throw new Error(work.lines.join())
  return { ...(await work()), written: Buffer.concat(chunks) }
}

const numbersIn = (bytes: Buffer): number[] =>
  bytes
    .toString()
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(JSON.parse(line).payload).number)

test('each id once, none that was removed, and an interrupted export continues', async () => {
  const events = Array.from({ length: COUNT }, (_, i) => event(i))
  const [again, removed] = [events[7], events[COUNT - 1]] as [LogEvent, LogEvent]
  const kept = events.slice(0, -1)
  await publish(kept)
  await broker.js.publish(removedSubject(0, 'shop'), encodeRemoved([{ seq: -1, id: removed.id }]))
  // They come again after the duplicate window, and events of others are in between.
  await publish([again, removed, event(1, { customer: 'other' })])
  await publish([event(COUNT, { receivedAt: Date.now() })])

  const expected = [...kept.keys(), COUNT]
  const { code, errors, written } = await run({ format: 'ndjson' })
  expect({ code, errors }).toEqual({
    code: 0,
    errors: [`Exported ${COUNT.toLocaleString('en')} events.`],
  })
  expect(numbersIn(written)).toEqual(expected)
  expect(JSON.parse(written.toString().split('\n')[7] as string)).toMatchObject({
    id: again.id,
    payload: again.payload,
    cookieless: false,
  })

  const out = join(folder, 'events.ndjson')
  expect((await run({ format: 'ndjson', out }, true)).code).toBe(130)
  await publish([event(COUNT + 1)])
  expect((await run({ format: 'ndjson', out })).code).toBe(0)
  expect(readFileSync(out).equals(written)).toBe(true)

  const bounds = {
    from: new Date(YESTERDAY + 10).toISOString(),
    to: new Date(YESTERDAY + 20).toISOString(),
  }
  const some = await run({ format: 'ndjson', ...bounds })
  expect(numbersIn(some.written)).toEqual(Array.from({ length: 10 }, (_, i) => 10 + i))
  const late = await run({ format: 'ndjson', from: new Date(YESTERDAY + 43_200_000).toISOString() })
  expect(numbersIn(late.written)).toEqual([COUNT])
})

test('a customer that the cluster does not know is refused', async () => {
  expect(await run({ customer: 'shpo', format: 'csv' })).toMatchObject({
    code: 1,
    errors: ['There is no customer shpo in the cluster'],
  })
})
