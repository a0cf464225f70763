import { randomUUID } from 'node:crypto'
import { rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { makeCampaignRow } from '../../test/campaignRow.ts'
import { makeFolder } from '../../test/gateway.ts'
import type { Utm } from '../campaigns/utm.ts'
import type { LogEvent } from '../collect/eventLog.ts'
import { toCells } from './cells.ts'
import { openReportStore } from './reportStore.ts'
import { openStore } from './store.ts'

/** The bounds of reports for clients that invent names, devices and utm values. */
const folder = makeFolder()
let files = 0
afterAll(() => rmSync(folder, { recursive: true }))

const DAY_MS = 86_400_000
const MONDAY = Date.UTC(2026, 10, 2, 12)
const utmOf = (campaign: string): Utm => ({
  utm_campaign: campaign,
  utm_medium: 'email',
  utm_source: 'news',
})
const SPRING = utmOf('spring')

/** What a device does; `day` is when it happens and arrives, days after Monday. */
type Given = {
  readonly did: string
  readonly utm?: Utm | undefined
  readonly event?: string
  readonly operation?: string
  readonly customer?: string
  readonly day?: number
  /** ms later, or earlier, than it arrived. */
  readonly at?: number
}

function makeEvent({ did, utm, event, operation, customer, day = 0, at = 0 }: Given): LogEvent {
  const receivedAt = MONDAY + day * DAY_MS
  const query = utm ? `?${new URLSearchParams(utm)}` : ''
  return {
    customer: customer ?? 'demo',
    id: randomUUID(),
    at: receivedAt + at,
    receivedAt,
    did,
    operation: operation ?? 'viewHomepage',
    event: event ?? 'view_page',
    bot: false,
    version: null,
    payload: JSON.stringify({ url: `https://shop.test/${query}` }),
  }
}

/** A log, and its reports with a small bound. */
function open(dailyNames: number) {
  files++
  const paths = {
    eventsFile: join(folder, `events-${files}.db`),
    reportsFile: join(folder, `reports-${files}.db`),
  }
  const log = openStore(paths.eventsFile)
  for (const customer of ['demo', 'another']) log.createCampaign(makeCampaignRow(customer, SPRING))
  let reports = openReportStore(paths, { dailyNames })
  const follow = (slice = 1_000) => {
    while (!reports.follow(slice).isDone);
  }
  return {
    reportsFile: paths.reportsFile,
    follow,
    add(...given: Given[]) {
      log.append(toCells(given.map(makeEvent)))
      follow()
    },
    append: (events: readonly LogEvent[]) => log.append(toCells(events)),
    read(utm: Utm, customer = 'demo') {
      for (;;) {
        const figures = reports.read(customer, utm, reports.end(customer))
        if (figures) return figures
        reports.follow(1_000, customer)
      }
    },
    /** Reads everything again. */
    restart() {
      reports.close()
      for (const end of ['', '-wal', '-shm']) rmSync(paths.reportsFile + end, { force: true })
      reports = openReportStore(paths, { dailyNames })
      follow()
    },
    close() {
      reports.close()
      log.close()
    },
  }
}

const made = (count: number, give: (i: number) => Given): Given[] =>
  Array.from({ length: count }, (_, i) => give(i))

test('event names beyond a day’s bound are counted as (other), for each customer separately', () => {
  const { add, read, close } = open(3)
  add({ did: 'a', utm: SPRING, event: 'visit' })
  add(...made(5, (i) => ({ did: 'a', event: `made up ${i}`, at: 1 })))
  add({ did: 'a', event: 'visit', at: 2 }, { did: 'a', event: 'made up 0', at: 2 })
  expect(read(SPRING).events).toEqual({ visit: 2, 'made up 0': 2, 'made up 1': 1, '(other)': 3 })

  add({ did: 'a', utm: SPRING, event: 'made up 4', customer: 'another' })
  expect(read(SPRING, 'another').events).toEqual({ 'made up 4': 1 })

  // The next day more are kept.
  add({ did: 'a', event: 'made up 4', day: 1 })
  expect(read(SPRING).events).toMatchObject({ 'made up 4': 1, '(other)': 3 })
  close()
})

test('an event with a time far in the future does not block the bound of the following days', () => {
  const { add, read, close } = open(1)
  add({ did: 'a', utm: SPRING, event: 'one', day: 30_000 }, { did: 'b', utm: SPRING, event: 'two' })
  add({ did: 'c', utm: SPRING, event: 'three', day: 1 })
  expect(read(SPRING).events).toEqual({ one: 1, two: 1, three: 1 })
  close()
})

test('any number of invented devices and utm values is counted', () => {
  const { add, read, close } = open(10)
  add({ did: 'a', utm: SPRING })
  // More than are kept in memory.
  add(...made(6_000, (i) => ({ did: `d-${i}`, utm: utmOf(`made up ${i}`) })))
  add({ did: 'a', at: 1 }, { did: 'd-0', at: 1 }, { did: 'd-0', utm: SPRING, at: 2 })
  expect(read(SPRING)).toMatchObject({ visitors: 2, events: { view_page: 3 } })
  expect(read(utmOf('made up 0'))).toMatchObject({ visitors: 1, events: { view_page: 2 } })
  expect(read(utmOf('made up 5999')).visitors).toBe(1)
  close()
})

test('which names are kept depends on the log alone, not on when it is read', () => {
  const anyGiven = fc.record({
    customer: fc.constantFrom('demo', 'another'),
    did: fc.constantFrom(...'abcdefgh'),
    utm: fc.option(fc.constantFrom(SPRING, ...['x', 'y', 'z'].map(utmOf)), { nil: undefined }),
    event: fc.constantFrom(...'klmnop'),
    day: fc.integer({ min: 0, max: 2 }),
  })
  fc.assert(
    fc.property(
      fc.array(anyGiven, { maxLength: 40, size: 'max' }),
      fc.integer({ min: 1, max: 9 }),
      (given, slice) => {
        const { append, follow, read, restart, close } = open(2)
        const readAll = () =>
          ['demo', 'another'].flatMap((customer) =>
            [SPRING, ...['x', 'y', 'z'].map(utmOf)].map((utm) => read(utm, customer)),
          )
        append(given.sort((a, b) => a.day - b.day).map(makeEvent))
        follow(slice)
        const figures = readAll()
        restart()
        expect(readAll()).toEqual(figures)
        close()
      },
    ),
    { numRuns: 25 },
  )
}, 120_000)

test.each<[string, (i: number) => Partial<Given>]>([
  ['utm values', (i) => ({ utm: utmOf(`made up ${i}`) })],
  ['visits of a campaign', () => ({ utm: SPRING })],
])('an event takes a bounded room in the file, whatever a client invents: %s', (_, give) => {
  const { add, read, reportsFile, close } = open(50)
  const EVENTS = 4_000
  add(
    ...made(EVENTS, (i) => ({
      did: randomUUID(),
      event: `${i}`.padEnd(200, '漢'),
      operation: 'addToCart',
      // As many days as the gateway accepts.
      at: -(i % 400) * DAY_MS,
      ...give(i),
    })),
  )
  read(SPRING)
  close()
  expect(statSync(reportsFile).size / EVENTS).toBeLessThan(400)
})
