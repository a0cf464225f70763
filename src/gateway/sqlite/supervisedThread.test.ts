import { randomUUID } from 'node:crypto'
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { BROKEN, FAULT, writeFaultyWorker } from '../../test/faultyWorker.ts'
import { layOutGateway, makeFolder } from '../../test/gateway.ts'
import type { EventLog, LogEvent } from '../collect/eventLog.ts'
import { createGroupCommit } from '../collect/groupCommit.ts'
import { Unavailable } from '../lib/unavailable.ts'
import { openDatabase } from './database.ts'
import { createSqliteLog } from './eventLog.ts'
import { type Supervision, startSupervisedThread } from './supervisedThread.ts'

let product: string
let faulty: URL
const folder = makeFolder()
let files = 0

beforeAll(() => {
  product = layOutGateway()
  faulty = writeFaultyWorker(product)
})
afterAll(() => {
  rmSync(product, { recursive: true })
  rmSync(folder, { recursive: true })
})

/** Long enough for a machine whose cores are all busy. */
const SOON = { timeout: 20_000 }
const nextFile = () => join(folder, `${++files}.db`)

const makeEvent = (payload = '{}'): LogEvent => ({
  customer: 'demo',
  id: randomUUID(),
  at: 1,
  receivedAt: 1,
  operation: 'search',
  event: 'search',
  did: 'd-1',
  bot: false,
  version: null,
  payload,
})

/** A log whose thread has faults, with the calls of its callbacks. */
async function open(file = nextFile(), supervision: Supervision = {}) {
  const fatal: Error[] = []
  let changes = 0
  const thread = await startSupervisedThread(file, faulty, {
    backoff: { baseMs: 1 },
    onFatal: (error) => fatal.push(error),
    onChange: () => changes++,
    ...supervision,
  })
  return { file, thread, log: createSqliteLog(thread), fatal, changes: () => changes }
}

const storedIn = (file: string): string[] => {
  const database = openDatabase(file)
  const ids = database.prepare<[], string>('SELECT lower(hex(id)) FROM events').pluck().all()
  database.close()
  return ids
}
const bare = ({ id }: LogEvent) => id.replaceAll('-', '')
const unavailable = (message: string) =>
  expect.objectContaining({ name: 'Unavailable', message: expect.stringContaining(message) })

test.each([
  ['throws', 'A bug'],
  ['exits', 'code 7'],
  ['grows', 'memory'],
] as const)(
  'a thread that %s is restarted, and its unanswered calls are rejected with Unavailable',
  async (fault, reason) => {
    const { log, thread, fatal, changes } = await open()
    const before = makeEvent()
    await log.append([before])
    let news = 0
    log.subscribe(() => news++, 'demo')
    const lost = await Promise.allSettled([
      log.append([makeEvent(FAULT[fault])]),
      log.read({ max: 1 }),
      thread.call('hasEmail'),
    ])
    for (const { status, reason } of lost as PromiseRejectedResult[]) {
      expect(status).toBe('rejected')
      expect(reason).toBeInstanceOf(Unavailable)
    }
    expect(log.health()).toEqual({ writable: false, reason: expect.stringContaining(reason) })
    await expect(log.append([makeEvent()])).rejects.toEqual(unavailable('restarted'))

    await expect.poll(() => log.health().writable, SOON).toBe(true)
    const after = makeEvent()
    expect(await log.append([before, after])).toEqual(['duplicate', 'stored'])
    expect(await log.read({ max: 9 })).toMatchObject([{ id: before.id }, { id: after.id }])
    // Events may have been stored without a report.
    await expect.poll(() => news, SOON).toBe(2)
    expect(changes()).toBe(2)
    expect(fatal).toEqual([])
    await log.close()
  },
)

test('a thread that ends again and again is restarted a limited number of times', async () => {
  const { log, fatal } = await open(nextFile(), { backoff: { baseMs: 1, maxTries: 3 } })
  for (let i = 0; i < 3; i++) {
    await log.append([makeEvent(FAULT.exits)]).catch(() => {})
    await expect.poll(() => log.health().writable, SOON).toBe(true)
  }
  await log.append([makeEvent(FAULT.exits)]).catch(() => {})
  await expect.poll(() => fatal, SOON).toHaveLength(1)
  await log.close()
})

test('a thread that has run for long enough gets all its tries again', async () => {
  const { log, fatal } = await open(nextFile(), {
    backoff: { baseMs: 1, maxTries: 1, stableMs: 0 },
  })
  for (let i = 0; i < 3; i++) {
    await log.append([makeEvent(FAULT.exits)]).catch(() => {})
    await expect.poll(() => log.health().writable, SOON).toBe(true)
  }
  expect(fatal).toEqual([])
  await log.close()
})

test.each(Object.entries(BROKEN))(
  'a thread that can not be restarted (%s) is fatal, with the reason',
  async (_, broken) => {
    const { file, log, fatal } = await open(nextFile(), { backoff: { baseMs: 1, maxTries: 2 } })
    writeFileSync(file + broken, '')
    await log.append([makeEvent(FAULT.throws)]).catch(() => {})
    await expect.poll(() => fatal, SOON).toHaveLength(1)
    expect(fatal[0]?.message).toMatch(
      /^The thread of \d+\.db can not be restarted: It (does not start|ends at once)/,
    )
    expect(log.health()).toEqual({ writable: false, reason: fatal[0]?.message })
    await expect(log.append([makeEvent()])).rejects.toBeInstanceOf(Unavailable)
    await log.close()
    await log.close()
  },
)

test('a database that can not be used is named with its reason', async () => {
  const file = nextFile()
  const { log } = await open(file)
  await log.close()
  const database = openDatabase(file)
  database.exec('DROP TABLE coverage; CREATE TABLE coverage (customer TEXT)')
  database.close()
  await expect(open(file)).rejects.toThrow(/^\d+\.db: .*column/)
})

test('a log that is closed during a restart is not opened again', async () => {
  const { file, log } = await open(nextFile(), { backoff: { baseMs: 20 } })
  await log.append([makeEvent(FAULT.exits)]).catch(() => {})
  await log.close()
  renameSync(file, `${file}.moved`)
  await new Promise((resolve) => setTimeout(resolve, 60))
  expect(existsSync(file)).toBe(false)
})

test('a file that is removed during a restart is fatal, and is not created again', async () => {
  const { file, log, fatal } = await open(nextFile(), { backoff: { baseMs: 100 } })
  await log.append([makeEvent(FAULT.exits)]).catch(() => {})
  rmSync(file)
  await expect.poll(() => fatal, SOON).toHaveLength(1)
  expect(fatal[0]?.message).toContain('was removed or replaced')
  expect(existsSync(file)).toBe(false)
  await log.close()
})

test.each<[string, (file: string) => void]>([
  ['the file is moved away', (file) => renameSync(file, `${file}.moved`)],
  [
    'the file, its -wal and its -shm are moved away',
    (file) => {
      for (const end of ['', '-wal', '-shm']) renameSync(file + end, `${file}.moved${end}`)
    },
  ],
  [
    'the file is replaced',
    (file) => {
      renameSync(file, `${file}.moved`)
      writeFileSync(file, '')
    },
  ],
  ['the -wal is removed', (file) => rmSync(`${file}-wal`)],
  ['the -shm is removed', (file) => rmSync(`${file}-shm`)],
])(
  '%s: detected, fatal, no more events are accepted, and no stored one is lost',
  async (_, change) => {
    const { file, log, fatal } = await open()
    const event = makeEvent()
    await log.append([event])
    change(file)
    await expect.poll(() => fatal, SOON).toHaveLength(1)
    expect(fatal[0]?.message).toMatch(/\.db(-wal|-shm)? was removed or replaced while the gateway/)
    expect(log.health()).toEqual({ writable: false, reason: fatal[0]?.message })
    await expect(log.append([makeEvent()])).rejects.toEqual(unavailable('was removed or replaced'))
    await log.close()
    const whole = existsSync(`${file}.moved`) ? `${file}.moved` : file
    // A file that is put in its place must not get the commits of the old one.
    if (existsSync(`${file}-wal`)) expect(statSync(`${file}-wal`).size).toBe(0)
    // The rest of the old file.
    for (const end of ['-wal', '-shm']) rmSync(whole + end, { force: true })
    expect(storedIn(whole)).toEqual([bare(event)])
  },
)

test('a symbolic link to another folder is detected, and the stored events are in the former folder', async () => {
  const [one, other, link] = ['one', 'other', 'link'].map((name) => join(folder, name)) as [
    ...[string, string, string],
  ]
  for (const path of [one, other]) mkdirSync(path)
  symlinkSync(one, link)
  const { log, fatal } = await open(join(link, 'events.db'))
  const event = makeEvent()
  await log.append([event])
  rmSync(link)
  symlinkSync(other, link)
  await expect.poll(() => fatal, SOON).toHaveLength(1)
  await log.close()
  expect(storedIn(join(one, 'events.db'))).toEqual([bare(event)])
  expect(existsSync(join(other, 'events.db'))).toBe(false)
})

test('a second gateway over the same file that starts and ends is not a change', async () => {
  const { file, log, fatal } = await open()
  await log.append([makeEvent()])
  for (let i = 0; i < 3; i++) {
    const other = await open(file)
    await other.log.append([makeEvent()])
    await other.log.close()
    storedIn(file)
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
  expect(fatal).toEqual([])
  expect(await log.append([makeEvent()])).toEqual(['stored'])
  await log.close()
})

test('a thread that hangs is unready and not restarted, and its calls are rejected', async () => {
  const { thread, fatal, changes } = await open(nextFile(), { deadlineMs: 100 })
  const log: EventLog = createGroupCommit(createSqliteLog(thread), { deadlineMs: 100 })
  const hanging = makeEvent(FAULT.hangs)
  const appended = log.append([hanging])
  await expect(thread.call('hasEmail')).rejects.toEqual(unavailable('too slowly'))
  await expect(appended).rejects.toEqual(unavailable('too slowly'))
  expect(log.health()).toEqual({ writable: false, reason: 'the event log answers too slowly' })
  await expect.poll(() => log.health().writable, SOON).toBe(true)
  const again = { ...hanging, payload: '{}' }
  await expect.poll(() => log.append([again]).catch(() => []), SOON).toEqual(['duplicate'])
  expect(changes()).toBe(0)
  expect(fatal).toEqual([])
  await log.close()
})

test('damage that is found at run time is reported, and the file is not written any more', async () => {
  const file = nextFile()
  const before = await open(file)
  await before.log.append(
    Array.from({ length: 300 }, () => makeEvent(JSON.stringify('x'.repeat(2_000)))),
  )
  await before.log.close()
  const { log, fatal, changes } = await open(file)
  const { size } = statSync(file)
  const written = openSync(file, 'r+')
  writeSync(written, Buffer.alloc(size - 4_096, 'x'), 0, size - 4_096, 4_096)
  closeSync(written)

  const message = `${files}.db is not a database of shoptrail, or is damaged`
  await expect(log.read({ max: 300 })).rejects.toEqual(unavailable(message))
  expect(log.health()).toEqual({ writable: false, reason: expect.stringContaining(message) })
  expect(log.health().reason).toContain('npx shoptrail restore DIR --yes')
  await expect(log.append([makeEvent()])).rejects.toEqual(unavailable(message))
  expect(fatal).toEqual([])
  expect(changes()).toBe(0)
  await log.close()
})
