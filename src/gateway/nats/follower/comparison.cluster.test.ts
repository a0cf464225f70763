import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { makeFolder, workerFile } from '../../../test/gateway.ts'
import { makeLogEvent } from '../../../test/logEvents.ts'
import { takeAccount } from '../../../test/sharedCluster.ts'
import type { LogEvent } from '../../collect/eventLog.ts'
import { openDatabase } from '../../sqlite/database.ts'
import { bytesOf } from '../../sqlite/uuid.ts'
import { type Broker, connectBroker } from '../broker.ts'
import { eraseMessages } from '../eraseMessages.ts'
import { encodeEvent } from '../eventMessage.ts'
import { countsSubject, eventSubject, streamOf } from '../names.ts'
import { type Comparison, type Difference, startComparison } from './comparison.ts'
import { type FollowingCopy, openCopy } from './copy.ts'

/** Long, for busy machines. */
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 })
const SOON = { timeout: 60_000, interval: 20 }
const folder = makeFolder()
let broker: Broker
let copy: FollowingCopy
let comparison: Comparison
const changes: (Difference | undefined)[] = []
/** Messages that were sent up to the last change. */
let requests = 0
const errors: unknown[] = []

const start = () =>
  startComparison({
    ...{ broker, copy, roundMs: 20 },
    onChange(difference) {
      changes.push(difference)
      requests = broker.nc.stats().outMsgs
    },
    onError: (error) => errors.push(error),
  })

beforeAll(async () => {
  broker = await connectBroker({ ...takeAccount(), partitions: 1, replicas: 1 })
  copy = await openCopy({
    ...{ broker, partition: 0, dataDir: folder, workerFile: workerFile(), isDamaged: false },
    ...{ now: Date.now, onStuck() {}, onLost: (error) => errors.push(error) },
    onError() {},
  })
  comparison = start()
})
beforeEach(() => changes.splice(0))
afterAll(async () => {
  await comparison.close()
  await copy.close()
  await broker.close()
  rmSync(folder, { recursive: true })
  expect(errors).toEqual([])
})

/** Publishes a message without an id, so that it may be a repetition. @returns Its sequence. */
async function publish(message: LogEvent | string, subject = eventSubject(0, 'demo')) {
  const data = typeof message === 'string' ? message : encodeEvent(message)
  return (await broker.js.publish(subject, data)).seq
}

/** Changes the copy behind the back of its follower. */
function change(sql: string, ...values: readonly unknown[]): void {
  const database = openDatabase(copy.eventsFile)
  database.prepare(sql).run(...values)
  database.close()
}

const find = () => comparison.difference()

test('repetitions, erased messages and those that copies leave out are no differences', async () => {
  const [one, other, erased] = [makeLogEvent(), makeLogEvent(), makeLogEvent()]
  for (const event of [one, other, one, erased]) await publish(event)
  await publish('{"problems":[],"coverage":[],"now":1}', countsSubject(0))
  await publish('not an event')
  const gap = await publish(makeLogEvent())
  const end = await publish(makeLogEvent())
  await copy.reach(end)
  await eraseMessages(broker.jsm, streamOf(0), [4, gap])
  // As after an erasure: the row is deleted when others around it are too.
  change('DELETE FROM events WHERE seq = 4')
  // A round has at least five requests. The reader of the copy has some each second.
  const before = broker.nc.stats().outMsgs
  await expect.poll(() => broker.nc.stats().outMsgs - before, SOON).toBeGreaterThan(200)
  expect(changes).toEqual([])
  expect(find()).toBeUndefined()
})

test('an event that the copy lacks is found at once, also after a restart, until it is there', async () => {
  await comparison.close()
  const seqs = await Promise.all(Array.from({ length: 1_000 }, () => publish(makeLogEvent())))
  await copy.reach(Math.max(...seqs))
  const seq = seqs[500] as number
  change('CREATE TABLE kept AS SELECT * FROM events WHERE seq = ?', seq)
  change('DELETE FROM events WHERE seq = ?', seq)
  const before = broker.nc.stats().outMsgs
  comparison = start()
  await vi.waitFor(() => expect(changes).toEqual([{ seq, fault: 'lacks' }]), SOON)
  // By its gap: random messages would take some hundred requests.
  expect(requests - before).toBeLessThan(60)
  const note = join(copy.folder, 'differs')
  expect(existsSync(note)).toBe(true)

  await comparison.close()
  comparison = start()
  await expect.poll(find, SOON).toEqual({ seq, fault: 'lacks' })
  change('INSERT INTO events SELECT * FROM kept')
  await expect.poll(find, SOON).toBeUndefined()
  expect(changes.at(-1)).toBeUndefined()
  expect(existsSync(note)).toBe(false)
})

test('another event at the same sequence is found', async () => {
  const seq = await publish(makeLogEvent())
  await copy.reach(seq)
  change('UPDATE events SET id = ? WHERE seq = ?', bytesOf(makeLogEvent().id), seq)
  await expect.poll(find, SOON).toEqual({ seq, fault: 'other' })
  // A message that is gone shows nothing.
  await eraseMessages(broker.jsm, streamOf(0), [seq])
  await expect.poll(find, SOON).toBeUndefined()
})
