import { randomUUID } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, expect, test } from 'vitest'
import { makeCampaignRow } from '../../test/campaignRow.ts'
import { makeFolder } from '../../test/gateway.ts'
import type { LogEvent } from '../collect/eventLog.ts'
import { toCells } from './cells.ts'
import { openReportStore, type ReportStore } from './reportStore.ts'
import { openStore } from './store.ts'

/** Damage, loss and sharing of the reports' file. It is derived from the log, so reports stay right in all cases. */
const folder = makeFolder()
let files = 0
afterAll(() => rmSync(folder, { recursive: true }))

const SPRING = { utm_campaign: 'spring', utm_medium: 'email', utm_source: 'news' }
const ADDRESS = `https://shop.test/?${new URLSearchParams(SPRING)}`

function makeFiles() {
  files++
  return {
    eventsFile: join(folder, `events-${files}.db`),
    reportsFile: join(folder, `reports-${files}.db`),
  }
}

const makeVisit = (customer: string): LogEvent => ({
  customer,
  id: randomUUID(),
  at: 1_700_000_000_000,
  receivedAt: 1_700_000_000_500,
  operation: 'viewHomepage',
  event: 'view_page',
  did: randomUUID(),
  bot: false,
  version: null,
  payload: JSON.stringify({ url: ADDRESS, customer }),
})

/** Stores `count` visits of each customer, each of another device, and an e-mail campaign of each. */
function addVisits(eventsFile: string, count: number, ...customers: string[]): void {
  const log = openStore(eventsFile)
  for (const customer of customers.length > 0 ? customers : ['demo']) {
    const visits = Array.from({ length: count }, () => makeVisit(customer))
    log.append(toCells(visits))
    log.createCampaign(makeCampaignRow(customer, SPRING))
  }
  log.close()
}

/** The visitors of a customer's campaign, once the whole log is read. */
function visitorsOf(reports: ReportStore, slice = 1_000, customer = 'demo'): number {
  while (!reports.follow(slice).isDone);
  for (;;) {
    const figures = reports.read(customer, SPRING, reports.end(customer))
    if (figures) return figures.visitors
    reports.follow(slice, customer)
  }
}

test('reading the log continues where it stopped', () => {
  const paths = makeFiles()
  addVisits(paths.eventsFile, 10)
  const first = openReportStore(paths)
  expect(first.end('demo')).toBe(10)
  expect(first.follow(4)).toEqual({ events: 4, isDone: false })
  expect(first.position('demo')).toBe(4)
  expect(first.read('demo', SPRING, 4)?.visitors).toBe(4)
  expect(first.read('demo', SPRING, 5)).toBe(undefined)
  first.close()

  const second = openReportStore(paths)
  expect(second.read('demo', SPRING, 4)?.visitors).toBe(4)
  expect(second.follow(4)).toEqual({ events: 4, isDone: false })
  expect(second.position('demo')).toBe(8)
  expect(visitorsOf(second)).toBe(10)
  expect(second.follow(4)).toEqual({ events: 0, isDone: true })
  second.close()
})

test('an empty log has empty reports', () => {
  const paths = makeFiles()
  addVisits(paths.eventsFile, 0)
  const reports = openReportStore(paths)
  expect(reports.follow(10)).toEqual({ events: 0, isDone: true })
  expect(reports.read('demo', SPRING, reports.end('demo'))?.visitors).toBe(0)
  addVisits(paths.eventsFile, 1)
  expect(visitorsOf(reports)).toBe(1)
  reports.close()
})

test('a report needs its own customer’s events only, however many another one has', () => {
  const paths = makeFiles()
  addVisits(paths.eventsFile, 3_000, 'flooded')
  addVisits(paths.eventsFile, 20, 'quiet')
  addVisits(paths.eventsFile, 3_000, 'flooded')
  const reports = openReportStore(paths)
  expect(reports.follow(500, 'quiet')).toEqual({ events: 20, isDone: true })
  expect(reports.read('quiet', SPRING, reports.end('quiet'))?.visitors).toBe(20)
  expect(reports.position('flooded')).toBe(0)
  addVisits(paths.eventsFile, 20, 'quiet')
  expect(reports.follow(15, 'quiet')).toEqual({ events: 15, isDone: false })
  expect(reports.read('quiet', SPRING, reports.end('quiet'))).toBe(undefined)
  expect(reports.follow(15, 'quiet')).toEqual({ events: 5, isDone: true })
  expect(reports.follow(15, 'quiet')).toEqual({ events: 0, isDone: true })
  expect(reports.read('quiet', SPRING, reports.end('quiet'))?.visitors).toBe(40)
  expect(reports.position('flooded')).toBe(0)
  // Read in the order of the log, its events are not counted again.
  expect(visitorsOf(reports, 500, 'flooded')).toBe(6_000)
  expect(visitorsOf(reports, 500, 'quiet')).toBe(40)
  reports.close()
})

test('a customer that is read further than the others continues there after a restart', () => {
  const paths = makeFiles()
  addVisits(paths.eventsFile, 10, 'a', 'b')
  const first = openReportStore(paths)
  first.follow(10, 'b')
  first.close()
  const second = openReportStore(paths)
  expect(second.position('b')).toBe(20)
  expect(second.read('b', SPRING, 20)?.visitors).toBe(10)
  expect(second.position('a')).toBe(0)
  expect(visitorsOf(second, 3, 'a')).toBe(10)
  expect(visitorsOf(second, 3, 'b')).toBe(10)
  second.close()
})

test('a customer whose first campaign is new has its earlier events counted, in turn with new ones', () => {
  const paths = makeFiles()
  addVisits(paths.eventsFile, 10, 'old')
  const reports = openReportStore(paths)
  const log = openStore(paths.eventsFile)
  const add = (count: number) =>
    log.append(toCells(Array.from({ length: count }, () => makeVisit('new'))))
  add(20)
  while (!reports.follow(7).isDone);
  expect(reports.position('new')).toBe(0)
  log.createCampaign(makeCampaignRow('new', SPRING))
  // Nothing was stored since, but there is something to read.
  expect(reports.follow(15)).toEqual({ events: 15, isDone: false })
  add(5)
  expect(reports.follow(15)).toEqual({ events: 5, isDone: false })
  expect(reports.position('new')).toBe(25)
  expect(reports.follow(100)).toEqual({ events: 10, isDone: true })
  expect(reports.read('new', SPRING, 35)?.visitors).toBe(25)
  expect(reports.follow(100)).toEqual({ events: 0, isDone: true })
  log.close()
  reports.close()
})

test('events of customers without a campaign take a few bytes in the file', () => {
  const paths = makeFiles()
  addVisits(paths.eventsFile, 1, 'old')
  const log = openStore(paths.eventsFile)
  for (let i = 0; i < 10; i++)
    log.append(toCells(Array.from({ length: 1_000 }, () => makeVisit('without'))))
  log.close()
  const reports = openReportStore(paths)
  while (!reports.follow(1_000).isDone);
  expect(reports.clearWal()).toBe(true)
  reports.close()
  const empty = makeFiles()
  addVisits(empty.eventsFile, 1, 'old')
  openReportStore(empty).close()
  const bytes = statSync(paths.reportsFile).size - statSync(empty.reportsFile).size
  expect(bytes).toBeLessThan(10 * 10_000)
})

test('a slice that fails is read again, for all of its customers', () => {
  const paths = makeFiles()
  addVisits(paths.eventsFile, 50, 'a', 'b')
  const whole = readFileSync(paths.eventsFile)
  const reports = openReportStore(paths)
  // No event of b can be read.
  const broken = Buffer.from(whole)
  for (let at = 0; at >= 0; at = whole.indexOf('"customer":"b"', at + 4096))
    if (at > 0) broken.fill(0, at & ~4095, (at & ~4095) + 4096)
  writeFileSync(paths.eventsFile, broken)
  expect(() => reports.follow(500)).toThrow(paths.eventsFile)
  expect(reports.position('a')).toBe(0)
  writeFileSync(paths.eventsFile, whole)
  addVisits(paths.eventsFile, 1, 'b')
  expect(visitorsOf(reports, 500, 'a')).toBe(50)
  expect(visitorsOf(reports, 500, 'b')).toBe(51)
  reports.close()
})

type Harm = (reportsFile: string) => void
const inDatabase =
  (sql: string): Harm =>
  (file) => {
    const database = new Database(file)
    database.exec(sql)
    database.close()
  }
const harms: [string, Harm][] = [
  ['deleted', (file) => rmSync(file)],
  ['empty', (file) => writeFileSync(file, '')],
  ['not a database', (file) => writeFileSync(file, 'These are no reports.'.repeat(999))],
  ['cut off', (file) => writeFileSync(file, Buffer.alloc(8192, 'SQLite format 3\0'))],
  [
    'overwritten in the middle',
    (file) => {
      const bytes = readFileSync(file)
      writeFileSync(file, bytes.fill(0, 4096))
    },
  ],
  ['of another version', inDatabase('PRAGMA user_version = 99; DROP TABLE parts')],
  ['with unknown tables', inDatabase('PRAGMA user_version = 0; CREATE TABLE "a ""b" (c)')],
  ['without a table', inDatabase('DROP TABLE names')],
  ['without its position', inDatabase('DELETE FROM position')],
]
test.each(harms)('a file that is %s is created again from the log', (_, harm) => {
  const paths = makeFiles()
  addVisits(paths.eventsFile, 5)
  const first = openReportStore(paths)
  expect(visitorsOf(first)).toBe(5)
  first.close()
  harm(paths.reportsFile)

  const second = openReportStore(paths)
  expect(visitorsOf(second)).toBe(5)
  addVisits(paths.eventsFile, 1)
  expect(visitorsOf(second)).toBe(6)
  second.close()
})

test('damage that shows while the file is open is repaired', () => {
  const paths = makeFiles()
  addVisits(paths.eventsFile, 5)
  const reports = openReportStore(paths)
  expect(visitorsOf(reports)).toBe(5)
  inDatabase('DROP TABLE parts')(paths.reportsFile)
  expect(reports.read('demo', SPRING, 5)).toBe(undefined)
  expect(visitorsOf(reports)).toBe(5)
  inDatabase('DROP TABLE devices')(paths.reportsFile)
  addVisits(paths.eventsFile, 1)
  expect(visitorsOf(reports)).toBe(6)
  reports.close()
})

test('damage that can not be repaired at once is repaired later', () => {
  const paths = makeFiles()
  addVisits(paths.eventsFile, 5)
  const reports = openReportStore(paths)
  expect(visitorsOf(reports)).toBe(5)
  inDatabase('DROP TABLE devices')(paths.reportsFile)
  addVisits(paths.eventsFile, 1)
  // In the place of the file there is a folder, which is not removed.
  const aside = `${paths.reportsFile}.aside`
  renameSync(paths.reportsFile, aside)
  mkdirSync(join(paths.reportsFile, 'in'), { recursive: true })
  expect(() => reports.follow(9)).toThrow(paths.reportsFile)
  expect(() => reports.follow(9)).toThrow(paths.reportsFile)
  rmSync(paths.reportsFile, { recursive: true })
  expect(visitorsOf(reports)).toBe(6)
  reports.close()
})

test.each([
  ['shorter', 3],
  ['longer', 9],
])('all events of another log, which is %s, are counted from the beginning', (_, count) => {
  const paths = makeFiles()
  addVisits(paths.eventsFile, 5)
  const first = openReportStore(paths)
  expect(visitorsOf(first)).toBe(5)
  first.close()
  for (const end of ['', '-wal', '-shm']) rmSync(paths.eventsFile + end, { force: true })
  addVisits(paths.eventsFile, count)

  const second = openReportStore(paths)
  expect(visitorsOf(second)).toBe(count)
  second.close()
})

test('a backup that was put back, and got new events, is another log', () => {
  const paths = makeFiles()
  addVisits(paths.eventsFile, 2)
  copyFileSync(paths.eventsFile, `${paths.eventsFile}.backup`)
  addVisits(paths.eventsFile, 1)
  const first = openReportStore(paths)
  expect(visitorsOf(first)).toBe(3)
  first.close()
  copyFileSync(`${paths.eventsFile}.backup`, paths.eventsFile)
  addVisits(paths.eventsFile, 1)

  const second = openReportStore(paths)
  expect(visitorsOf(second)).toBe(3)
  second.close()
})

test('two gateways over one folder count each event once, in turns', () => {
  const paths = makeFiles()
  addVisits(paths.eventsFile, 6)
  const [one, other] = [openReportStore(paths), openReportStore(paths)]
  expect(one.follow(2).events).toBe(2)
  expect(other.follow(3).events).toBe(3)
  expect(one.follow(9).events).toBe(1)
  expect(one.read('demo', SPRING, 6)?.visitors).toBe(6)
  expect(visitorsOf(other)).toBe(6)

  // When one gateway starts from the beginning, the others notice it.
  inDatabase('UPDATE position SET last_id = zeroblob(16)')(paths.reportsFile)
  const third = openReportStore(paths)
  expect(visitorsOf(third)).toBe(6)
  addVisits(paths.eventsFile, 4)
  expect(visitorsOf(one, 1)).toBe(10)
  expect(visitorsOf(other, 1)).toBe(10)
  for (const reports of [one, other, third]) reports.close()
})

test('while a gateway of another version uses the file, nothing is counted, with the reason', () => {
  const paths = makeFiles()
  addVisits(paths.eventsFile, 1)
  const reports = openReportStore(paths)
  expect(visitorsOf(reports)).toBe(1)
  inDatabase('PRAGMA user_version = 99; DROP TABLE position')(paths.reportsFile)
  expect(() => reports.follow(9)).toThrow(/another version/)
  expect(() => reports.read('demo', SPRING, 1)).toThrow(/another version/)
  addVisits(paths.eventsFile, 1)
  expect(() => reports.follow(9)).toThrow(/another version/)
  reports.close()
  const database = new Database(paths.reportsFile)
  expect(database.pragma('user_version', { simple: true })).toBe(99)
  database.close()
})

test('a missing or invalid log is named, and the reports are kept', () => {
  const paths = makeFiles()
  expect(() => openReportStore(paths)).toThrow(paths.eventsFile)
  expect(existsSync(paths.reportsFile)).toBe(false)
  writeFileSync(paths.eventsFile, 'no log'.repeat(99))
  expect(() => openReportStore(paths)).toThrow(paths.eventsFile)
  rmSync(paths.eventsFile)

  addVisits(paths.eventsFile, 1)
  const reports = openReportStore(paths)
  expect(visitorsOf(reports)).toBe(1)
  inDatabase('ALTER TABLE events RENAME TO moved')(paths.eventsFile)
  expect(() => reports.follow(9)).toThrow(paths.eventsFile)
  expect(reports.read('demo', SPRING, 1)?.visitors).toBe(1)
  reports.close()
})

test('a file that can not be created is named', () => {
  const paths = makeFiles()
  addVisits(paths.eventsFile, 1)
  expect(() => openReportStore({ ...paths, reportsFile: folder })).toThrow(folder)
})
