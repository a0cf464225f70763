import {
  chmodSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeEach, expect, inject, test } from 'vitest'
import { makeFolder } from '../../test/gateway.ts'
import { openDatabase } from '../sqlite/database.ts'
import { openPair } from '../sqlite/databasePair.ts'
import { EVENTS_SCHEMA } from '../sqlite/store.ts'
import { checkDatabases } from './checkDatabases.ts'
import { checkDisk, measureSync } from './checkDisk.ts'
import { checkFileSystem } from './checkFileSystem.ts'
import { checkFolder } from './checkFolder.ts'
import { checkClock, checkDescriptors, checkMemory, checkVersions } from './checkMachine.ts'
import { checkDate } from './checkPublicUrl.ts'
import { checkSpace } from './checkSpace.ts'
import type { Found } from './finding.ts'

const probeFile = pathToFileURL(join(inject('gatewayBundles'), 'doctor-probe.js'))
const root = makeFolder()
let folder: string
let folders = 0
beforeEach(() => {
  folder = join(root, `${++folders}`)
  mkdirSync(folder, { mode: 0o700 })
})
afterAll(() => rmSync(root, { recursive: true }))

const texts = (found: readonly Found[]) =>
  found.map(({ level, message, fix }) => [`${level} ${message}`, ...fix].join('\n'))

test('a folder and files that others can read are warnings, with the command that mends them', () => {
  const file = join(folder, 'events.db')
  writeFileSync(file, '')
  chmodSync(file, 0o644)
  chmodSync(folder, 0o755)
  expect(texts(checkFolder(folder))).toEqual([
    `warning Other users of this machine may look into ${folder}\nchmod 700 ${folder}`,
    `warning Other users of this machine may read events.db in ${folder}\nchmod 600 ${file}`,
  ])
  for (const [path, mode] of [
    [file, 0o600],
    [folder, 0o700],
  ] as const)
    chmodSync(path, mode)
  expect(texts(checkFolder(folder))).toEqual([expect.stringMatching(/^ok /)])
})

test('a file in place of the folder is an error, and a missing one a note', () => {
  const file = join(folder, 'file')
  writeFileSync(file, '')
  expect(texts(checkFolder(file))[0]).toMatch(/^error DATA_DIR .* is not a folder/)
  expect(texts(checkFolder(join(folder, 'a/b')))[0]).toMatch(/^note DATA_DIR .* does not exist/)
})

test.each([
  [0x6969, /^error .* network file system \(NFS\)/],
  [-11317950, /^error .* network file system \(SMB\)/],
  [0x794c7630, /^warning .* writable layer of a container/],
  [0x01021994, /^warning .* in memory \(tmpfs\)/],
])('a file system of type %i is reported', async (type, expected) => {
  expect(texts(await checkFileSystem(folder, probeFile, false, type))).toEqual([
    expect.stringMatching(expected),
    'ok A lock keeps a second process away',
  ])
})

test('a folder whose files need not be kept may be in memory', async () => {
  expect(texts(await checkFileSystem(folder, probeFile, true, 0x01021994))).toEqual([
    'ok A lock keeps a second process away',
  ])
})

test('a folder that can not hold a database is an error', async () => {
  expect(texts(await checkFileSystem('/proc', probeFile, false, 0))).toEqual([
    expect.stringMatching(/^error \/proc can not hold a database: /),
  ])
})

test('the speed of the disk is told in words', () => {
  const with99 = (ms: number, slowest = ms) =>
    checkDisk(folder, () => [...Array(49).fill(ms), slowest])
  expect(texts(with99(2))[0]).toMatch(
    /^ok 50 syncs of the disk: p50 2\.00 ms, p99 2\.00 ms\. An event .* About 500 commits a second/,
  )
  expect(texts(with99(30))[0]).toMatch(/^warning .* The disk is slow/)
  expect(texts(with99(1, 300))[0]).toMatch(/^warning .*p99 300 ms/)
  expect(texts(with99(0.001))[0]).toMatch(/^note .* probably keeps nothing/)
  expect(measureSync(folder, 3)).toHaveLength(3)
  expect(texts(checkDisk('/proc'))[0]).toMatch(/^error Nothing can be written and synced in \/proc/)
})

test('the free space is compared with what a day stores', () => {
  const now = 20_000 * 86_400_000 + 43_200_000
  const GIB = 2 ** 30
  const space = (free: number, today: number, yesterday: number) =>
    texts(
      checkSpace(
        folder,
        [
          { day: 19_999, events: 1, bytes: yesterday },
          { day: 20_000, events: 1, bytes: today },
        ],
        now,
        GIB / 2,
        { left: free, size: 200 * GIB },
      ),
    )[0]
  expect(space(100 * GIB, 0, 0)).toBe(`ok 100.0 GiB are free in ${folder}`)
  // Half of the day is over.
  expect(space(100 * GIB, GIB / 2, 0)).toMatch(/^ok .* about 49 days at the present rate/)
  expect(space(100 * GIB, 4096, 4096)).toMatch(/lasts more than 10 years at/)
  expect(space(10.5 * GIB, 0, GIB)).toMatch(/^warning .* about 5 days/)
  expect(space(GIB, 0, 0)).toMatch(/^warning 1\.0 GiB/)
  expect(space(GIB / 4, 0, 0)).toMatch(/^error The disk is full/)
})

test('a pair of databases that can be read is fine, and a missing or damaged one an error', async () => {
  openPair(folder)()
  expect(texts((await checkDatabases(folder, probeFile)).found)).toEqual([
    'ok customers.db, events.db: can be read, no damage found',
  ])
  const events = join(folder, 'events.db')
  const { size } = statSync(events)
  truncateSync(events, size - 4_096)
  expect(texts((await checkDatabases(folder, probeFile)).found)).toEqual([
    expect.stringMatching(/^error .*events\.db is .*damaged/),
  ])
  writeFileSync(events, 'x'.repeat(9_000))
  expect(texts((await checkDatabases(folder, probeFile)).found)).toEqual([
    expect.stringMatching(/^error .*events\.db is not a database/),
  ])
  rmSync(events)
  expect(texts((await checkDatabases(folder, probeFile)).found)).toEqual([
    expect.stringMatching(/^error events\.db is missing, but was there at the last start/),
  ])
})

test('what SQLite says about a damaged page is one line', async () => {
  openPair(folder)()
  const events = join(folder, 'events.db')
  const bytes = readFileSync(events)
  writeFileSync(events, bytes.fill(0xff, 3 * 4_096, 4 * 4_096))
  expect(texts((await checkDatabases(folder, probeFile)).found)).toEqual([
    expect.stringMatching(/^error .*events\.db is damaged: .* page 4\b.*\nStop the gateway/),
  ])
})

test('a database of a newer version is an error, and one of an earlier version a note', async () => {
  openPair(folder)()
  const setVersion = (version: number) => {
    const database = openDatabase(join(folder, 'events.db'))
    database.exec('DROP TABLE IF EXISTS schema_versions')
    database.pragma(`user_version = ${version}`)
    database.close()
  }
  setVersion(99)
  expect(texts((await checkDatabases(folder, probeFile)).found)).toEqual([
    expect.stringMatching(/^error events\.db was written by a newer version of shoptrail/),
  ])
  setVersion(0)
  expect(texts((await checkDatabases(folder, probeFile)).found)).toEqual([
    expect.stringMatching(/^note .*events\.db is of an earlier version/),
  ])
})

test('the newest event and the last days are read', async () => {
  const receivedAt = 20_000 * 86_400_000
  const database = openDatabase(join(folder, 'events.db'), EVENTS_SCHEMA)
  database.exec(
    `INSERT INTO events (customer, id, received_at, at, operation, event, bot, payload)
     VALUES ('a', x'01', ${receivedAt}, 0, 'search', 'search', 0, '{}');
     INSERT INTO usage VALUES ('a', 20000, 1, 2), ('b', 20000, 2, 5)`,
  )
  database.close()
  const { events } = await checkDatabases(folder, probeFile)
  expect(events).toMatchObject({ newest: receivedAt, days: [{ day: 20_000, events: 3, bytes: 7 }] })
  expect(texts(checkClock(events?.newest, receivedAt - 3_600_000))[0]).toMatch(
    /^warning The newest stored event is from 2024-10-04T00:00:00\.000Z, later than the clock/,
  )
  expect(texts(checkClock(events?.newest, receivedAt))[0]).toMatch(/^ok /)
})

test('a database that is too large for the time is a note, and the probe is ended', async () => {
  openPair(folder)()
  const { found } = await checkDatabases(folder, probeFile, 1)
  for (const text of texts(found)) expect(text).toMatch(/^note .* is too large to be checked/)
  expect(found).toHaveLength(2)
})

test('versions, files, memory and a Date are compared with what a gateway needs', () => {
  expect(texts(checkVersions('18.19.0'))[0]).toMatch(/^error Node 18\.19\.0 is too old/)
  expect(texts(checkVersions())).toEqual([
    expect.stringMatching(/^ok Node/),
    expect.stringMatching(/^ok/),
  ])
  expect(texts(checkDescriptors(undefined, 1_024))[0]).toMatch(/^warning .* only 924 connections/)
  expect(texts(checkDescriptors(5_000, 1_024))[0]).toMatch(/^error MAX_CONNECTIONS is 5000/)
  expect(texts(checkDescriptors(undefined, 65_536))[0]).toMatch(/^ok 2048 connections/)
  const MIB = 2 ** 20
  const bounds = { maxConnections: undefined, maxHeaderBytes: MIB / 16, bodyBudgetBytes: 32 * MIB }
  expect(texts(checkMemory(bounds, 128 * MIB))[0]).toMatch(/^error 128 MiB/)
  expect(texts(checkMemory(bounds, 256 * MIB))[0]).toMatch(/^warning 256 MiB/)
  expect(texts(checkMemory(bounds, 512 * MIB))[0]).toMatch(/^ok 512 MiB/)
  const more = { ...bounds, maxConnections: 20_000 }
  expect(texts(checkMemory(more, 512 * MIB))[0]).toMatch(/^error 512 MiB .* up to 1882 MiB/)
  expect(checkDate(undefined, 5)).toEqual([])
  expect(texts(checkDate(0, 90_000))[0]).toMatch(/^warning .* 90 s ahead of the Date/)
})
