import { randomUUID } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { layOutGateway, makeFolder } from '../../test/gateway.ts'
import { Unavailable } from '../lib/unavailable.ts'
import type { People } from '../people/people.ts'
import { toCells } from './cells.ts'
import { createSqlitePeople, type PeopleOptions } from './people.ts'
import { openStore } from './store.ts'

/** The contract of People, checked with the thread. */
const folder = makeFolder()
let bundles: string
let files = 0
const opened: People[] = []

beforeAll(() => {
  bundles = layOutGateway()
})
afterEach(async () => {
  await Promise.all(opened.splice(0).map((people) => people.close()))
})
afterAll(() => {
  rmSync(folder, { recursive: true })
  rmSync(bundles, { recursive: true })
})

function start(options: Partial<PeopleOptions> = {}): People {
  files++
  const people = createSqlitePeople({
    eventsFile: join(folder, `events-${files}.db`),
    reportsFile: join(folder, `reports-${files}.db`),
    workerFile: pathToFileURL(join(bundles, 'dist/person-worker.js')),
    ...options,
  })
  opened.push(people)
  return people
}

const DEVICE = { did: 'device-a' }

/** A log with events of one device, each with a payload of some bytes. */
function fill(count: number, bytes = 10): string {
  const eventsFile = join(folder, `events-of-${files + 1}.db`)
  const log = openStore(eventsFile)
  log.append(
    toCells(
      Array.from({ length: count }, (_, at) => ({
        customer: 'shop',
        id: randomUUID(),
        at,
        receivedAt: at,
        operation: 'viewHomepage',
        event: 'view_page',
        ...DEVICE,
        bot: false,
        version: null,
        payload: JSON.stringify({ ...DEVICE, source: 'x'.repeat(bytes) }),
      })),
    ),
  )
  log.close()
  return eventsFile
}

async function piecesOf(people: People): Promise<Uint8Array[]> {
  const found = await people.export('shop', DEVICE)
  const pieces: Uint8Array[] = []
  for (let piece = await found?.next(); piece; piece = await found?.next()) pieces.push(piece)
  found?.end()
  return pieces
}

test('a person is found, exported in pieces of bounded size, and erased', async () => {
  const people = start({ eventsFile: fill(2_000, 1_000) })
  expect(await people.find('shop', DEVICE)).toMatchObject({ events: 2_000, first: 0, last: 1_999 })
  const pieces = await piecesOf(people)
  expect(pieces.length).toBeGreaterThan(20)
  expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(140_000)
  expect(JSON.parse(Buffer.concat(pieces).toString()).events).toHaveLength(2_000)
  const proof = await people.erase('shop', DEVICE)
  expect(proof).toMatchObject({ proof: 1, events: 2_000, devices: 1 })
  expect(await people.proofs('shop')).toEqual([proof])
  expect(await people.find('shop', DEVICE)).toBeUndefined()
  expect(await people.export('shop', DEVICE)).toBeUndefined()
  expect(await people.erase('shop', DEVICE)).toBeUndefined()
})

test('searches of several customers and an export take turns', async () => {
  const people = start({ eventsFile: fill(3_000, 1_000) })
  const found = await people.export('shop', DEVICE)
  await found?.next()
  const [one, other] = await Promise.all([
    people.find('shop', DEVICE),
    people.find('other', DEVICE),
  ])
  expect([one?.events, other]).toEqual([3_000, undefined])
  found?.end()
  expect((await people.find('shop', DEVICE))?.events).toBe(3_000)
})

test('without a log, every call fails, except that there are no proofs; none is created', async () => {
  const people = start()
  await expect(people.find('shop', DEVICE)).rejects.toThrow(Unavailable)
  await expect(people.export('shop', DEVICE)).rejects.toThrow(Unavailable)
  await expect(people.erase('shop', DEVICE)).rejects.toThrow(Unavailable)
  expect(await people.proofs('shop')).toEqual([])
})

test('an error does not contain the person', async () => {
  const error = await start()
    .find('shop', { did: 'secret-name' })
    .catch((reason) => reason)
  expect(`${error.message} ${error.cause.message} ${error.stack}`).not.toContain('secret-name')
})

test('calls of a thread that ends are rejected, and the next call starts it again', async () => {
  const eventsFile = fill(3)
  const workerFile = pathToFileURL(join(bundles, 'dist/ending-person-worker.js'))
  // Ends at the first search, and otherwise works like the real one.
  writeFileSync(
    workerFile,
    `import { existsSync, writeFileSync } from 'node:fs'
     import { parentPort, workerData } from 'node:worker_threads'
     const mark = workerData.eventsFile + '.ended'
     await import('./person-worker.js')
     parentPort.on('message', ({ name }) => {
       if (name !== 'find' || existsSync(mark)) return
       writeFileSync(mark, '')
       process.exit(7)
     })`,
  )
  const ends: Error[] = []
  const people = start({ eventsFile, workerFile, onEnd: (error) => ends.push(error) })
  const found = await people.export('shop', DEVICE)
  await expect(people.find('shop', DEVICE)).rejects.toThrow(Unavailable)
  expect(ends).toHaveLength(1)
  expect((await people.find('shop', DEVICE))?.events).toBe(3)
  // The export ended with its thread.
  await expect(found?.next()).rejects.toThrow(Unavailable)
  found?.end()
})

test('after the close every call is rejected', async () => {
  const people = start({ eventsFile: fill(3) })
  await people.find('shop', DEVICE)
  await people.close()
  await expect(people.find('shop', DEVICE)).rejects.toThrow('closed')
})

test('a close ends what is running', async () => {
  const people = start({ eventsFile: fill(20_000) })
  const running = people.erase('shop', DEVICE).catch((error) => error)
  await people.proofs('shop')
  await people.close()
  expect(await running).toBeInstanceOf(Unavailable)
})
