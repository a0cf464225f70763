import { randomUUID } from 'node:crypto'
import { closeSync, mkdirSync, openSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeCampaignRow } from '../../test/campaignRow.ts'
import { layOutGateway, makeFolder } from '../../test/gateway.ts'
import type { Reports } from '../campaigns/report.ts'
import { Unavailable } from '../lib/unavailable.ts'
import { toCells } from './cells.ts'
import { openDatabase } from './database.ts'
import { openReportStore } from './reportStore.ts'
import { createSqliteReports, type ReportOptions } from './reports.ts'
import { openStore } from './store.ts'

/** The contract of Reports, checked with the thread. */
const folder = makeFolder()
let bundles: string
let workerFile: URL
let files = 0

beforeAll(() => {
  bundles = layOutGateway()
  workerFile = pathToFileURL(join(bundles, 'dist/report-worker.js'))
})
afterAll(() => {
  rmSync(folder, { recursive: true })
  rmSync(bundles, { recursive: true })
})

const SPRING = { utm_campaign: 'spring', utm_medium: 'email', utm_source: 'news' }

/** A log, and reports over it. */
function open() {
  files++
  const paths = {
    eventsFile: join(folder, `events-${files}.db`),
    reportsFile: join(folder, `reports-${files}.db`),
  }
  const log = openStore(paths.eventsFile)
  const opened: Reports[] = []
  return {
    ...paths,
    /** Stores visits, each of another device. */
    add(count: number, event = 'view_page', customer = 'demo') {
      const url = `https://shop.test/?${new URLSearchParams(SPRING)}`
      const visits = Array.from({ length: count }, () => ({
        customer,
        id: randomUUID(),
        at: 1_700_000_000_000,
        receivedAt: 1,
        operation: 'viewHomepage',
        event,
        did: randomUUID(),
        bot: false,
        version: null,
        payload: JSON.stringify({ url }),
      }))
      log.append(toCells(visits))
    },
    addCampaign: () => log.createCampaign(makeCampaignRow('demo', SPRING)),
    start(options: Partial<ReportOptions> = {}) {
      const reports = createSqliteReports({
        ...paths,
        workerFile,
        writeClosed: async (closing) => log.closeFigures(closing),
        ...options,
      })
      opened.push(reports)
      return reports
    },
    async end() {
      await Promise.all(opened.map((reports) => reports.close()))
      log.close()
    },
  }
}

const visitorsOf = async (reports: Reports) => (await reports.read('demo', SPRING)).visitors

test('a report counts every event that was stored before the call', async () => {
  const { add, start, end } = open()
  add(2_500)
  // A busy machine may take longer than the usual patience.
  const reports = start({ patienceMs: 60_000 })
  reports.follow()
  expect(await visitorsOf(reports)).toBe(2_500)
  for (let i = 1; i <= 20; i++) {
    add(1)
    expect(await visitorsOf(reports)).toBe(2_500 + i)
  }
  add(1)
  expect(await Promise.all([1, 2, 3].map(() => visitorsOf(reports)))).toEqual([2_521, 2_521, 2_521])
  await end()
})

test('a report of a log that is not read yet is Unavailable with the progress, and the reading continues', async () => {
  const { add, start, end } = open()
  add(20_000)
  const reports = start({ patienceMs: 0 })
  const failure = await visitorsOf(reports).catch((error) => error)
  expect(failure).toBeInstanceOf(Unavailable)
  expect(failure.message).toMatch(
    /^The report is not ready yet: it is counted up to event [1-9]\d* of 20000 of the log/,
  )
  await expect.poll(() => visitorsOf(reports).catch(() => 0), { timeout: 20_000 }).toBe(20_000)
  await end()
})

test('the lag is the number of events that are not counted yet, and is not known before the start', async () => {
  const { add, addCampaign, start, end } = open()
  addCampaign()
  add(20_000)
  const reports = start()
  expect(await reports.lag()).toBeUndefined()
  reports.follow()
  const first = await reports.lag()
  expect(first).toBeGreaterThan(0)
  expect(first).toBeLessThanOrEqual(20_000)
  await expect.poll(() => reports.lag(), { timeout: 20_000 }).toBe(0)
  await end()
})

test('a report does not wait for events of other customers', async () => {
  const { add, start, end } = open()
  add(10_000, 'view_page', 'flooded')
  add(50, 'view_page', 'quiet')
  const reports = start({ patienceMs: 60_000 })
  reports.follow()
  const visitors = async (customer: string) => (await reports.read(customer, SPRING)).visitors
  const flooded = visitors('flooded')
  const first = Promise.race([flooded.then(() => 'flooded'), visitors('quiet')])
  expect(await first).toBe(50)
  expect(await visitors('unknown')).toBe(0)
  expect(await flooded).toBe(10_000)
  await end()
})

test('an event with the name of an object’s property comes through from the thread', async () => {
  const { add, start, end } = open()
  add(1, '__proto__')
  const { events } = await start().read('demo', SPRING)
  expect(JSON.stringify(events)).toBe('{"__proto__":1}')
  await end()
})

test('the log is followed before the first report', async () => {
  const { add, addCampaign, start, end, eventsFile, reportsFile } = open()
  add(3)
  addCampaign()
  start().follow()
  await expect
    .poll(
      () => {
        const store = openReportStore({ eventsFile, reportsFile })
        const figures = store.read('demo', SPRING, 3)
        store.close()
        return figures?.visitors
      },
      { timeout: 20_000 },
    )
    .toBe(3)
  await end()
})

test('two gateways over one folder count at the same time, and both are right', async () => {
  const { add, start, end } = open()
  add(5_000)
  const both = [start({ patienceMs: 60_000 }), start({ patienceMs: 60_000 })]
  for (let i = 1; i <= 5; i++) {
    expect(await Promise.all(both.map(visitorsOf))).toEqual([4_000 + i * 1_000, 4_000 + i * 1_000])
    add(1_000)
  }
  await end()
})

test('a fault is Unavailable with its reason, until it is repaired', async () => {
  const { add, start, end, reportsFile } = open()
  add(1)
  mkdirSync(reportsFile)
  const reports = start()
  const failure = await visitorsOf(reports).catch((error) => error)
  expect(failure).toBeInstanceOf(Unavailable)
  expect(failure.cause?.message).toContain(reportsFile)
  rmSync(reportsFile, { recursive: true })
  expect(await visitorsOf(reports)).toBe(1)
  await end()
})

test('a damaged log is named, with the remedy', async () => {
  const { add, start, end, eventsFile } = open()
  add(300)
  const database = openDatabase(eventsFile)
  database.pragma('wal_checkpoint(TRUNCATE)')
  database.close()
  const { size } = statSync(eventsFile)
  const file = openSync(eventsFile, 'r+')
  writeSync(file, Buffer.alloc(size - 4_096, 'x'), 0, size - 4_096, 4_096)
  closeSync(file)
  const failure = await visitorsOf(start()).catch((error) => error)
  expect(failure).toBeInstanceOf(Unavailable)
  expect(failure.cause?.message).toContain(
    `${eventsFile} is not a database of shoptrail, or is damaged`,
  )
  expect(failure.cause?.message).toContain('npx shoptrail restore DIR --yes')
  await end()
})

test('a thread that can not start is Unavailable', async () => {
  const broken = join(bundles, 'dist/broken.js')
  writeFileSync(broken, 'throw new Error("broken")')
  const reports = createSqliteReports({
    eventsFile: '/nowhere',
    reportsFile: '/nowhere',
    workerFile: pathToFileURL(broken),
    writeClosed: async () => true,
  })
  for (let i = 0; i < 2; i++) {
    const failure = await visitorsOf(reports).catch((error) => error)
    expect(failure).toBeInstanceOf(Unavailable)
    expect(`${failure.cause}`).toContain('broken')
  }
  await reports.close()
})

test('a thread that ends is restarted, also without a call, and reads are Unavailable meanwhile', async () => {
  const faulty = join(bundles, 'dist/ending.js')
  writeFileSync(
    faulty,
    `import { existsSync, rmSync } from 'node:fs'
    import { workerData } from 'node:worker_threads'
    const flag = workerData.eventsFile + '.ends'
    setInterval(() => {
      if (!existsSync(flag)) return
      rmSync(flag)
      throw new Error('A bug')
    }, 10)
    await import('./report-worker.js')`,
  )
  const { add, start, end, eventsFile, reportsFile } = open()
  let failure: Unavailable | undefined
  const reports = start({
    workerFile: pathToFileURL(faulty),
    onEnd: async () => {
      failure = await reports.read('demo', SPRING).catch((error) => error)
    },
  })
  add(1)
  expect(await visitorsOf(reports)).toBe(1)
  writeFileSync(`${eventsFile}.ends`, '')
  await expect.poll(() => failure, { timeout: 20_000 }).toBeInstanceOf(Unavailable)
  expect(String(failure?.cause)).toContain('A bug')
  add(1)
  await expect
    .poll(
      () => {
        const store = openReportStore({ eventsFile, reportsFile })
        const figures = store.read('demo', SPRING, 2)
        store.close()
        return figures?.visitors
      },
      { timeout: 20_000 },
    )
    .toBe(2)
  expect(await visitorsOf(reports)).toBe(2)
  await end()
})

test('closed reports reject every read, and may be closed again', async () => {
  const { add, start, end } = open()
  add(1)
  const reports = start()
  const asked = visitorsOf(reports).catch((error) => error)
  await reports.close()
  expect([1, expect.any(Unavailable)]).toContainEqual(await asked)
  await expect(visitorsOf(reports)).rejects.toBeInstanceOf(Unavailable)
  reports.follow()
  await reports.close()

  const never = createSqliteReports({
    eventsFile: '/nowhere',
    reportsFile: '/nowhere',
    workerFile: new URL('file:///nowhere'),
    writeClosed: async () => true,
  })
  await never.close()
  await end()
})
