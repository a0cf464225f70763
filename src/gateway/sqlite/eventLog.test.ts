import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { checkEventLog } from '../../test/eventLogContract.ts'
import { makeFolder, workerFile } from '../../test/gateway.ts'
import { makeLogEvent } from '../../test/logEvents.ts'
import { createGroupCommit } from '../collect/groupCommit.ts'
import { Unavailable } from '../lib/unavailable.ts'
import { openDatabase } from './database.ts'
import { createSqliteLog } from './eventLog.ts'
import { startSqliteThread } from './thread.ts'

const folder = makeFolder()
let files = 0

afterAll(() => {
  rmSync(folder, { recursive: true })
})

const nextFile = () => join(folder, `${++files}.db`)
const engine = async (file = nextFile()) =>
  createSqliteLog(await startSqliteThread(file, workerFile()))

checkEventLog('SQLite', async () => {
  const file = nextFile()
  return {
    open: () => engine(file),
    place: { file, worker: fileURLToPath(workerFile()) },
    async remove(customer, seq) {
      const database = openDatabase(file)
      database.prepare('DELETE FROM events WHERE customer = ? AND seq = ?').run(customer, seq)
      database.close()
    },
  }
})

test('positions begin with 1, and the events of all customers have one order', async () => {
  const log = await engine()
  const events = ['a', 'b', 'a'].map((customer) => makeLogEvent({ customer }))
  await log.append(events)
  expect(await log.read({ max: 10 })).toEqual(events.map((event, i) => ({ ...event, seq: i + 1 })))
  expect(await log.read({ after: 1, max: 1 })).toMatchObject([{ seq: 2, customer: 'b' }])
  await log.close()
})

test('an append to the queue is asked about after it, in the same tick', async () => {
  const log = createGroupCommit(await engine())
  const [a, b] = [makeLogEvent(), makeLogEvent()]
  const appends = [log.append([a]), log.append([b])]
  expect(await log.has('demo', [b.id, a.id.toUpperCase()])).toEqual([true, true])
  await Promise.all(appends)
  await log.close()
})

test('listeners get the customers of an append, and none of a duplicate', async () => {
  const log = await engine()
  const notified: (readonly string[])[] = []
  const event = makeLogEvent()
  log.subscribe((customers) => notified.push([...(customers ?? [])]), 'demo')
  await log.append([event, makeLogEvent({ customer: 'b' })])
  expect(notified).toEqual([['demo', 'b']])
  await log.append([event])
  await log.probe()
  expect(notified).toHaveLength(1)
  await log.close()
})

test('a commit that fails is Unavailable, stores no part, and the next one works', async () => {
  const log = await engine()
  const impossible = { ...makeLogEvent(), customer: null as unknown as string }
  await expect(log.append([makeLogEvent(), impossible])).rejects.toBeInstanceOf(Unavailable)
  expect(await log.read({ max: 9 })).toEqual([])
  expect(await log.append([makeLogEvent()])).toEqual(['stored'])
  await log.close()
})

test('a file that is not a database is refused at the start', async () => {
  await expect(startSqliteThread(folder, workerFile())).rejects.toThrow()
})
