import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { makeFolder, workerFile } from '../../test/gateway.ts'
import type { EventLog, LogEvent } from '../collect/eventLog.ts'
import { Unavailable } from '../lib/unavailable.ts'
import { createSqliteLog } from './eventLog.ts'
import { createGroupCommit } from './groupCommit.ts'
import { startSqliteThread } from './thread.ts'

/** The contract of EventLog, checked for the engine alone and for the engine behind the queue that shares commits. */
const folder = makeFolder()
let files = 0

afterAll(() => {
  rmSync(folder, { recursive: true })
})

const nextFile = () => join(folder, `${++files}.db`)
const engine = async (file = nextFile()) =>
  createSqliteLog(await startSqliteThread(file, workerFile()))
const open: [string, (file?: string) => Promise<EventLog>][] = [
  ['SQLite', engine],
  ['SQLite behind the queue', async (file) => createGroupCommit(await engine(file))],
]

const makeEvent = (given: Partial<LogEvent> = {}): LogEvent => ({
  customer: 'demo',
  id: randomUUID(),
  at: 1_700_000_000_000,
  receivedAt: 1_700_000_000_500,
  operation: 'search',
  event: 'search',
  did: 'd-1',
  bot: false,
  version: null,
  payload: '{"search_term":"lămpi 漢 \\u0000"}',
  ...given,
})

test.each(open)(
  '%s: appended events are read back, in order, each with a position',
  async (_, open) => {
    const log = await open()
    const events = [
      makeEvent(),
      makeEvent({ did: null, bot: true, version: '1.2.0-rc.1+b7' }),
      makeEvent({ did: 'nul \0 inside' }),
    ]
    expect(await log.append(events)).toEqual(['stored', 'stored', 'stored'])
    expect(await log.read({ max: 10 })).toEqual(
      events.map((event, i) => ({ ...event, seq: i + 1 })),
    )
    await log.close()
  },
)

test.each(open)(
  '%s: asked which ids a customer has, also while they are being stored',
  async (_, open) => {
    const file = nextFile()
    const log = await open(file)
    const [a, b, c] = [makeEvent(), makeEvent(), makeEvent({ customer: 'another' })]
    const appends = [log.append([a]), log.append([b, c])]
    const ids = [b.id, randomUUID(), a.id.toUpperCase(), c.id, b.id]
    expect(await log.has('demo', ids)).toEqual([true, false, true, false, true])
    expect(await log.has('demo', [])).toEqual([])
    await Promise.all(appends)
    const other = await open(file)
    expect(await other.has('another', [a.id, c.id])).toEqual([false, true])
    await other.close()
    await log.close()
    await expect(log.has('demo', ids)).rejects.toThrow(Unavailable)
  },
)

test.each(open)('%s: an id is stored once a customer', async (_, open) => {
  const file = nextFile()
  const log = await open(file)
  const event = makeEvent()
  const again = { ...event, id: event.id.toUpperCase(), payload: '{"other":true}' }
  expect(await log.append([event, event])).toEqual(['stored', 'duplicate'])
  expect(await log.append([again])).toEqual(['duplicate'])
  expect(await log.append([{ ...event, customer: 'another' }])).toEqual(['stored'])
  const outcomes = await Promise.all(
    Array.from({ length: 20 }, () => log.append([makeEvent({ id: event.id }), makeEvent()])),
  )
  expect(outcomes.every(([first, second]) => first === 'duplicate' && second === 'stored')).toBe(
    true,
  )
  await log.close()

  const reopened = await open(file)
  expect(await reopened.append([event])).toEqual(['duplicate'])
  expect(await reopened.read({ max: 100 })).toHaveLength(22)
  expect((await reopened.read({ max: 1 }))[0]?.payload).toBe(event.payload)
  await reopened.close()
})

test.each(open)(
  '%s: reads continue after a position, for all customers or for one',
  async (_, open) => {
    const log = await open()
    for (let i = 0; i < 5; i++)
      await log.append([makeEvent({ customer: i % 2 ? 'b' : 'a', event: `e${i}` })])
    const names = async (read: ReturnType<EventLog['read']>) =>
      (await read).map(({ event }) => event)
    expect(await names(log.read({ max: 2 }))).toEqual(['e0', 'e1'])
    expect(await names(log.read({ after: 2, max: 2 }))).toEqual(['e2', 'e3'])
    expect(await names(log.read({ after: 1, max: 9, customer: 'a' }))).toEqual(['e2', 'e4'])
    expect(await names(log.read({ after: 5, max: 9 }))).toEqual([])
    const tailOf = async (customer: string, max: number) =>
      names(log.read({ customer, max: 9, ...(await log.findTail(customer, max)) }))
    expect(await tailOf('a', 2)).toEqual(['e2', 'e4'])
    expect(await tailOf('a', 3)).toEqual(['e0', 'e2', 'e4'])
    expect(await tailOf('a', 9)).toEqual(['e0', 'e2', 'e4'])
    expect(await log.findTail('b', 1)).toEqual({ after: 3, newest: 4 })
    expect(await log.findTail('nobody', 2)).toEqual({ after: 0, newest: 0 })
    await log.close()
  },
)

test.each(open)('%s: a read ends with the record that reaches a sum of bytes', async (_, open) => {
  const log = await open()
  const sizes = [400, 50_000, 400, 400]
  await log.append(sizes.map((size) => makeEvent({ did: null, payload: 'é'.repeat(size) })))
  const read = async (after: number, maxBytes: number) =>
    (await log.read({ after, max: 3, maxBytes })).map(({ seq }) => seq)
  expect(await read(0, 1)).toEqual([1])
  expect(await read(0, 4_000)).toEqual([1, 2])
  expect(await read(1, 4_000)).toEqual([2])
  expect(await read(2, 4_000)).toEqual([3, 4])
  // 800 bytes of payload, 6 of the name, 256.
  expect(await read(2, 1_062)).toEqual([3])
  expect(await read(2, 1_063)).toEqual([3, 4])
  expect(await read(0, 1_000_000)).toEqual([1, 2, 3])
  expect(await read(4, 1)).toEqual([])
  // An unfinished read does not block the next write.
  expect(await log.append([makeEvent()])).toEqual(['stored'])
  await log.close()
})

test.each(open)('%s: listeners are called until they are removed', async (_, open) => {
  const log = await open()
  const notified: (readonly string[])[] = []
  const event = makeEvent()
  const undo = log.subscribe((customers) => notified.push([...(customers ?? [])]))
  await log.append([event, makeEvent({ customer: 'b' })])
  expect(notified).toEqual([['demo', 'b']])
  await log.append([event])
  expect(notified).toHaveLength(1)
  undo()
  await log.append([makeEvent()])
  expect(notified).toHaveLength(1)
  await log.close()
})

test('listeners are called for events of another process', async () => {
  const file = nextFile()
  const [reader, writer] = [await engine(file), await engine(file)]
  const notified = new Promise<void>((resolve) => {
    reader.subscribe(() => resolve())
  })
  // After the reader's first check.
  await reader.read({ max: 1 })
  const event = makeEvent()
  await writer.append([event])
  await notified
  expect(await reader.read({ max: 9 })).toMatchObject([{ id: event.id }])
  await reader.close()
  await writer.close()
})

test.each(open)('%s: a probe writes, stores no event and calls no listener', async (_, open) => {
  const log = await open()
  let calls = 0
  log.subscribe(() => calls++)
  await log.probe()
  expect(await log.read({ max: 9 })).toEqual([])
  expect(calls).toBe(0)
  await log.close()
})

test.each(open)('%s: a closed log rejects appends with the reason', async (_, open) => {
  const log = await open()
  const pending = log.append([makeEvent()])
  await log.close()
  expect(await pending).toEqual(['stored'])
  await expect(log.append([makeEvent()])).rejects.toBeInstanceOf(Unavailable)
  expect(log.health().writable).toBe(false)
  await log.close()
})

test('a commit that fails is Unavailable, stores no part, and the next one works', async () => {
  const log = await engine()
  const impossible = { ...makeEvent(), customer: null as unknown as string }
  await expect(log.append([makeEvent(), impossible])).rejects.toBeInstanceOf(Unavailable)
  expect(await log.read({ max: 9 })).toEqual([])
  expect(await log.append([makeEvent()])).toEqual(['stored'])
  await log.close()
})

test('a file that is not a database is refused at the start', async () => {
  await expect(startSqliteThread(folder, workerFile())).rejects.toThrow()
})
