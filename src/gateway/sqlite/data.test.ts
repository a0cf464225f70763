import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { BROKEN, FAULT, putFaultyWorker, writeFaultyWorker } from '../../test/faultyWorker.ts'
import {
  type GatewayProcess,
  layOutGateway,
  prepareGateway,
  send,
  startProcess,
} from '../../test/gateway.ts'
import type { Gateway, GatewayOptions } from '../index.ts'
import { createSqliteCustomers } from './customers.ts'
import { openDatabase } from './database.ts'
import { createMirrorRows } from './mirrorRows.ts'

let prepared: Awaited<ReturnType<typeof prepareGateway>>
let faulty: URL
let folder: string
let folders = 0

beforeAll(async () => {
  prepared = await prepareGateway()
  faulty = writeFaultyWorker(prepared.folder)
  folder = layOutGateway()
  putFaultyWorker(folder)
})
afterAll(async () => {
  await prepared.end()
  rmSync(folder, { recursive: true })
})

/** Long enough for a machine whose cores are all busy. */
const SOON = { timeout: 20_000 }
const ORIGIN = 'https://shop.example'

/** A gateway whose thread has faults, and what it reported. */
async function open(options: Partial<GatewayOptions> = {}) {
  const dataDir = join(prepared.folder, `data-${++folders}`)
  const reasons: (string | undefined)[] = []
  const fatal: Error[] = []
  const gateway = await prepared.start({
    dataDir,
    workerFile: faulty,
    ...options,
    onReadiness: (reason) => reasons.push(reason),
    onFatal: (error) => fatal.push(error),
  })
  const { customer } = gateway.customers.add({ origins: [ORIGIN] })
  return { gateway, dataDir, reasons, fatal, trackingKey: customer.trackingKey }
}

const post = (url: string, trackingKey: string, source = 'x', origin = ORIGIN) =>
  send(url, `/t/r?k=${trackingKey}`, {
    method: 'POST',
    headers: { origin },
    body: JSON.stringify({
      did: 'd-1',
      event: 'view_homepage',
      url: `${ORIGIN}/`,
      http_user_agent: 'UA/1',
      source,
    }),
  })
const statusOf = async ({ url }: Pick<Gateway, 'url'>, path: string) =>
  (await send(url, path)).status

test('a folder with the copy of a cluster is refused, and no log is made in it', async () => {
  const dataDir = join(prepared.folder, `data-${++folders}`)
  mkdirSync(dataDir)
  const file = join(dataDir, 'customers.db')
  createSqliteCustomers(file).close()
  const database = openDatabase(file)
  createMirrorRows(database, [{ table: 'customers', key: ['customer_id'] }])
  database.close()
  await expect(prepared.start({ dataDir })).rejects.toThrow(
    /customers\.db is a gateway's copy of a cluster. Set ENGINE/,
  )
  expect(existsSync(join(dataDir, 'events.db'))).toBe(false)
})

test('an event that takes the thread down is answered 503, and the next ones are stored', async () => {
  const { gateway, reasons, fatal, trackingKey } = await open()
  const { url } = gateway
  await expect.poll(() => statusOf(gateway, '/readyz'), SOON).toBe(200)
  reasons.length = 0
  const lost = await post(url, trackingKey, FAULT.throws)
  expect(lost.status).toBe(503)
  expect(lost.headers['retry-after']).toBe('5')
  expect(await statusOf(gateway, '/livez')).toBe(200)
  await expect.poll(async () => (await post(url, trackingKey)).status, SOON).toBe(200)
  expect(await statusOf(gateway, '/readyz')).toBe(200)
  expect(reasons[0]).toContain('The thread of events.db has ended')
  await expect.poll(() => reasons.at(-1), SOON).toBeUndefined()
  expect(fatal).toEqual([])
})

test('a gateway without customers is unready, and becomes ready', async () => {
  const dataDir = join(prepared.folder, `data-${++folders}`)
  const reasons: (string | undefined)[] = []
  const gateway = await prepared.start({ dataDir, onReadiness: (reason) => reasons.push(reason) })
  await expect.poll(() => reasons, SOON).toHaveLength(1)
  expect(reasons[0]).toContain('This gateway has no customers')
  // The command as it is printed must work: `add` needs an origin.
  expect(reasons[0]).toContain('npx shoptrail customer add --origin https://')
  gateway.customers.add()
  await expect.poll(() => reasons, SOON).toHaveLength(2)
  expect(reasons[1]).toBeUndefined()
})

test.each([
  ['events.db', (dataDir: string) => rmSync(join(dataDir, 'events.db'))],
  ['customers.db', (dataDir: string) => rmSync(join(dataDir, 'customers.db'))],
  ['customers.db-wal', (dataDir: string) => rmSync(join(dataDir, 'customers.db-wal'))],
  ['.db', (dataDir: string) => renameSync(dataDir, `${dataDir}-moved`)],
])('a removed %s makes the gateway unready for good, with the reason', async (name, remove) => {
  const { gateway, dataDir, fatal, reasons } = await open()
  remove(dataDir)
  await expect.poll(() => fatal, SOON).toHaveLength(1)
  const message = `${name} was removed or replaced while the gateway had it open`
  expect(fatal[0]?.message).toContain(message)
  expect(reasons.at(-1)).toContain(message)
  const ready = await send(gateway.url, '/readyz')
  expect(ready.status).toBe(503)
  expect(JSON.parse(ready.text).message).toContain(message)
  // Not 404: the gateway does not know any more which customers exist.
  expect(await statusOf(gateway, '/t/j/NOTHING1')).toBe(503)
  expect(await statusOf(gateway, '/livez')).toBe(200)
})

test('a customers.db that was moved away contains everything that was stored', async () => {
  const { gateway, dataDir, fatal, trackingKey } = await open()
  const file = join(dataDir, 'customers.db')
  renameSync(file, `${file}.moved`)
  await expect.poll(() => fatal, SOON).toHaveLength(1)
  await gateway.close()
  expect(statSync(`${file}-wal`).size).toBe(0)
  const customers = createSqliteCustomers(`${file}.moved`)
  expect(customers.findByTrackingKey(trackingKey)).toBeDefined()
  customers.close()
})

test('damage of events.db in a read or a commit is reported, and no more events are accepted', async () => {
  const { gateway, dataDir, reasons, fatal, trackingKey } = await open()
  for (let i = 0; i < 200; i++) await post(gateway.url, trackingKey, 'x'.repeat(2_000))
  await gateway.close()
  const errors: string[] = []
  const own = await prepared.start({
    dataDir,
    onReadiness: (reason) => reasons.push(reason),
    onError: (error) => errors.push(String((error as Error).cause)),
    onFatal: (error) => fatal.push(error),
  })
  const file = join(dataDir, 'events.db')
  const { size } = statSync(file)
  const written = openSync(file, 'r+')
  writeSync(written, Buffer.alloc(size - 4_096, 'x'), 0, size - 4_096, 4_096)
  closeSync(written)

  const message = 'events.db is not a database of shoptrail, or is damaged'
  const answer = await post(own.url, trackingKey)
  expect(answer.status).toBe(503)
  expect(JSON.parse(answer.text).message).toContain(message)
  expect(errors[0]).toContain(message)
  const ready = await send(own.url, '/readyz')
  expect(ready.status).toBe(503)
  expect(JSON.parse(ready.text).message).toContain(message)
  expect(JSON.parse(ready.text).message).toContain('npx shoptrail restore DIR --yes')
  await expect.poll(() => reasons.at(-1), SOON).toContain(message)
  expect(await statusOf(own, `/t/j/${trackingKey}`)).toBe(200)
  expect(fatal).toEqual([])
})

const lastLine = ({ output }: GatewayProcess): { level: number; msg: string } =>
  JSON.parse(output().trim().split('\n').at(-1) ?? '')

test.each<[string, (file: string) => void]>([
  ['removed', (file) => rmSync(file)],
  [
    'replaced',
    (file) => {
      renameSync(file, `${file}.old`)
      writeFileSync(file, '')
    },
  ],
])('a process whose events.db is %s ends with 1 and the reason', async (_, change) => {
  const DATA_DIR = join(folder, `data-${++folders}`)
  const own = await startProcess(folder, { DATA_DIR })
  change(join(DATA_DIR, 'events.db'))
  expect(await own.ended).toBe(1)
  expect(lastLine(own)).toMatchObject({
    level: 60,
    msg: expect.stringContaining('events.db was removed or replaced'),
  })
  expect(existsSync(join(DATA_DIR, 'events.db-journal'))).toBe(false)
})

test('a process whose thread can not be restarted ends with 1 and the reason', async () => {
  const DATA_DIR = join(folder, `data-${++folders}`)
  const own = await startProcess(folder, { DATA_DIR })
  writeFileSync(join(DATA_DIR, `events.db${BROKEN.start}`), '')
  expect((await post(own.url, 'DEMOSHOP', FAULT.exits, own.url)).status).toBe(503)
  expect((await send(own.url, '/readyz')).status).toBe(503)
  expect(await own.ended).toBe(1)
  expect(lastLine(own)).toMatchObject({
    level: 60,
    msg: expect.stringContaining('events.db can not be restarted: It does not start'),
  })
})
