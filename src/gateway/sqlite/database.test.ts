import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, expect, test } from 'vitest'
import { upgradeFile } from '../../test/earlierData.ts'
import { makeFolder } from '../../test/gateway.ts'
import { toCells } from './cells.ts'
import { createSqliteCustomers } from './customers.ts'
import { openDatabase } from './database.ts'
import { openReportStore } from './reportStore.ts'
import { EVENTS_SCHEMA, openStore } from './store.ts'

/** All three databases, opened as the gateway opens them. */
const OPENERS: [string, (file: string) => { close(): void }][] = [
  ['events.db', openStore],
  ['customers.db', createSqliteCustomers],
]

const folder = makeFolder()
let folders = 0
const nextFile = (name = 'x.db') => {
  const own = join(folder, String(++folders))
  mkdirSync(own)
  return join(own, name)
}
afterAll(() => rmSync(folder, { recursive: true }))

test('a database opens with synchronous FULL in WAL mode', () => {
  const database = openDatabase(nextFile())
  expect(database.pragma('synchronous', { simple: true })).toBe(2)
  expect(database.pragma('journal_mode', { simple: true })).toBe('wal')
  database.close()
})

/** events.db as it was before events had the version of the script, with one event. */
function makeOldEvents(file: string): void {
  const database = new Database(file)
  database.exec(`
    CREATE TABLE events (
      seq INTEGER PRIMARY KEY AUTOINCREMENT, customer TEXT NOT NULL, id BLOB NOT NULL,
      received_at INTEGER NOT NULL, at INTEGER NOT NULL, operation TEXT NOT NULL, event TEXT NOT NULL,
      did TEXT, bot INTEGER NOT NULL, payload TEXT NOT NULL, UNIQUE (customer, id)
    ) STRICT;
    CREATE INDEX events_by_customer ON events (customer);
  `)
  database.close()
  insertAsOld(file)
}

/** Stores an event with the statement of a gateway that does not know the version. */
function insertAsOld(file: string): void {
  const database = new Database(file)
  database
    .prepare(
      `INSERT INTO events (customer, id, received_at, at, operation, event, did, bot, payload)
       VALUES ('shop', randomblob(16), 1, 1, 'search', 'search', 'd-1', 0, '{}') ON CONFLICT (customer, id) DO NOTHING`,
    )
    .run()
  database.close()
}

test('an older events.db gets the columns that were added, and an older gateway can still write it', async () => {
  const file = nextFile('events.db')
  makeOldEvents(file)
  await upgradeFile(file, EVENTS_SCHEMA)
  const [first, second] = [openStore(file), openStore(file)]
  const id = '0190f3a2-7c41-7d11-9a3e-5f2b8c6d4e10'
  const event = { customer: 'shop', id, receivedAt: 2, at: 2, operation: 'search', event: 'search' }
  const rest = { did: 'd-1', bot: false, payload: '{}', version: '1.2.3', cookieless: true }
  second.append(toCells([{ ...event, ...rest }]))
  insertAsOld(file)
  expect(first.read({ max: 9 }).map(({ version }) => version)).toEqual([null, '1.2.3', null])
  const database = new Database(file, { readonly: true })
  const cookieless = database.prepare('SELECT cookieless FROM events').pluck()
  expect(cookieless.all()).toEqual([null, 1, null])
  first.removeEvents([1, 2, 3])
  expect(database.prepare('SELECT version FROM events').pluck().all()).toEqual([null, null, null])
  expect(cookieless.all()).toEqual([null, null, null])
  database.close()
  first.close()
  second.close()
})

test('a database that can not use a write-ahead log is refused', () => {
  const before = process.cwd()
  process.chdir(folder)
  expect(() => openDatabase(':memory:')).toThrow(/journal_mode memory/)
  process.chdir(before)
})

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8)
const modesOf = (file: string) =>
  ['', '-wal', '-shm'].flatMap((end) => (existsSync(file + end) ? [modeOf(file + end)] : []))

test.each([0o000, 0o022, 0o277])(
  'files are readable only by their owner under umask %o',
  (umask) => {
    const eventsFile = nextFile('events.db')
    const reportsFile = eventsFile.replace('events', 'reports')
    chmodSync(join(eventsFile, '..'), 0o777)
    const before = process.umask(umask)
    try {
      const store = openStore(eventsFile)
      const reports = openReportStore({ eventsFile, reportsFile })
      store.probe()
      expect(modesOf(eventsFile)).toEqual(['600', '600', '600'])
      expect(modesOf(reportsFile)).toEqual(['600', '600', '600'])
      reports.close()
      store.close()
    } finally {
      process.umask(before)
    }
  },
)

test('files that others could read become private, the -wal and -shm too', () => {
  const file = nextFile()
  const reportsFile = file.replace('x.db', 'reports.db')
  const open = openStore(file)
  const reports = openReportStore({ eventsFile: file, reportsFile })
  for (const path of [file, reportsFile])
    for (const end of ['', '-wal', '-shm']) chmodSync(path + end, 0o666)
  const store = openStore(file)
  const again = openReportStore({ eventsFile: file, reportsFile })
  expect(modesOf(file)).toEqual(['600', '600', '600'])
  expect(modesOf(reportsFile)).toEqual(['600', '600', '600'])
  for (const one of [again, reports, store, open]) one.close()
})

test('the target of a symbolic link is private, and created if it is missing', () => {
  const file = nextFile('link.db')
  const target = join(folder, `target-${folders}.db`)
  symlinkSync(target, file)
  const store = openStore(file)
  expect(modesOf(target)).toEqual(['600', '600', '600'])
  store.close()
})

const garbage: [string, (file: string) => void, RegExp][] = [
  [
    'text',
    (file) => writeFileSync(file, 'garbage '.repeat(1_000)),
    /is not a database of shoptrail, or is damaged/,
  ],
  [
    'a few bytes',
    (file) => writeFileSync(file, 'garbage'),
    /is not a database of shoptrail, or is damaged/,
  ],
  ['a folder', (file) => mkdirSync(file), /is a folder/],
  [
    'a folder behind a link',
    (file) => {
      mkdirSync(`${file}-folder`)
      symlinkSync(`${file}-folder`, file)
    },
    /is a folder/,
  ],
  ['a device', (file) => symlinkSync('/dev/null', file), /is not a regular file/],
  [
    'a database of another application',
    (file) => new Database(file).exec('CREATE TABLE notes (text)').close(),
    /is a database of another application/,
  ],
  [
    'another application’s with tables of the same names',
    (file) =>
      new Database(file).exec('CREATE TABLE events (a); CREATE TABLE customers (a)').close(),
    /is a database of another application/,
  ],
]
test.each(OPENERS.flatMap(([name, open]) => garbage.map((rest) => [name, open, ...rest] as const)))(
  'an invalid %s is an error with its name and the remedy, and is not changed: %#',
  (name, open, _, make, message) => {
    const file = nextFile(name)
    make(file)
    const before = statSync(file).isFile() && readFileSync(file)
    const opened = () => open(file).close()
    expect(opened).toThrow(message)
    expect(opened).toThrow(file)
    expect(opened).toThrow(/[Mm]ove/)
    if (before) expect(readFileSync(file).equals(before)).toBe(true)
  },
)

test.each(OPENERS)('a truncated %s is named, wherever it was cut', (name, open) => {
  const whole = nextFile(name)
  open(whole).close()
  const { size } = statSync(whole)
  for (const bytes of [100, 1_000, 4_096, size - 4_096]) {
    const file = nextFile(name)
    copyFileSync(whole, file)
    truncateSync(file, bytes)
    expect(() => open(file).close()).toThrow(
      `${file} is not a database of shoptrail, or is damaged`,
    )
  }
})

test('damage anywhere in the customers is found when they are opened', () => {
  const file = nextFile()
  const customers = createSqliteCustomers(file)
  for (let i = 0; i < 50; i++) customers.add({ origins: ['https://shop.example'] })
  customers.close()
  const bytes = readFileSync(file)
  for (let page = 1; page < bytes.length / 4_096; page++) {
    const damaged = nextFile()
    writeFileSync(damaged, Buffer.from(bytes).fill('x', page * 4_096, (page + 1) * 4_096))
    expect(() => createSqliteCustomers(damaged).close()).toThrow(
      `${damaged} is not a database of shoptrail`,
    )
  }
})

test('a database of another application in place of the reports is not changed', () => {
  const eventsFile = nextFile()
  const reportsFile = eventsFile.replace('x.db', 'reports.db')
  openStore(eventsFile).close()
  new Database(reportsFile).exec('CREATE TABLE notes (text)').close()
  const before = readFileSync(reportsFile)
  expect(() => openReportStore({ eventsFile, reportsFile })).toThrow('of another application')
  expect(readFileSync(reportsFile).equals(before)).toBe(true)
})

test('an empty file becomes a new database', () => {
  const file = nextFile()
  writeFileSync(file, '')
  chmodSync(file, 0o644)
  openStore(file).close()
  expect(modeOf(file)).toBe('600')
})
