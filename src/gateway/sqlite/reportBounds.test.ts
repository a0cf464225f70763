import { randomUUID } from 'node:crypto'
import { rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { makeFolder } from '../../test/gateway.ts'
import type { Utm } from '../campaigns/utm.ts'
import type { LogEvent } from '../collect/eventLog.ts'
import { toCells } from './cells.ts'
import { DAILY_BOUNDS } from './reportCustomers.ts'
import { openReportStore } from './reportStore.ts'
import { openStore } from './store.ts'

/** What somebody who makes up names, devices and utm values can do to reports, and what not. */
const folder = makeFolder()
let files = 0
afterAll(() => rmSync(folder, { recursive: true }))

const DAY_MS = 86_400_000
const MONDAY = Date.UTC(2026, 10, 2, 12)
const utmOf = (campaign: string): Utm => ({
  ...{ utm_campaign: campaign, utm_medium: 'email', utm_source: 'news' },
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
    ...{ customer: customer ?? 'demo', id: randomUUID(), at: receivedAt + at, receivedAt, did },
    ...{ operation: operation ?? 'viewHomepage', event: event ?? 'view_page', bot: false },
    payload: JSON.stringify({ url: `https://shop.test/${query}` }),
  }
}

/** A log, and its reports with small bounds. */
function open(bounds: Partial<typeof DAILY_BOUNDS>) {
  files++
  const paths = {
    eventsFile: join(folder, `events-${files}.db`),
    reportsFile: join(folder, `reports-${files}.db`),
  }
  const log = openStore(paths.eventsFile)
  const daily = { ...DAILY_BOUNDS, ...bounds }
  let reports = openReportStore(paths, { daily })
  const count = (slice = 1_000) => {
    while (!reports.rollUp(slice).isDone);
  }
  return {
    reportsFile: paths.reportsFile,
    count,
    add(...given: Given[]) {
      log.append(toCells(given.map(makeEvent)))
      count()
    },
    append: (events: readonly LogEvent[]) => log.append(toCells(events)),
    create(tracking: Utm, customer = 'demo', type = 'email') {
      log.createCampaign({
        createdAt: 0,
        ...{ customer, id: randomUUID(), type, status: 'scheduled', sendAt: '2026-11-02 09:00' },
        ...{ name: 'Spring', subjectLine: 'Mugs', content: Buffer.from('{}') },
        summary: JSON.stringify({ type, tracking }),
      })
    },
    read(utm: Utm, customer = 'demo') {
      const figures = reports.read(customer, utm, reports.end(customer))
      if (!figures) throw new Error('not counted')
      return figures
    },
    /** Counts everything again. */
    recount() {
      reports.close()
      for (const end of ['', '-wal', '-shm']) rmSync(paths.reportsFile + end, { force: true })
      reports = openReportStore(paths, { daily })
      count()
    },
    close() {
      reports.close()
      log.close()
    },
  }
}

const made = (count: number, give: (i: number) => Given): Given[] =>
  Array.from({ length: count }, (_, i) => give(i))

test('event names beyond a day’s bound are counted as (other), of each customer by itself', () => {
  const { add, read, close } = open({ names: 3 })
  add({ did: 'a', utm: SPRING, event: 'visit' })
  add(...made(5, (i) => ({ did: 'a', event: `made up ${i}`, at: 1 })))
  add({ did: 'a', event: 'visit', at: 2 }, { did: 'a', event: 'made up 0', at: 2 })
  expect(read(SPRING).events).toEqual({ visit: 2, 'made up 0': 2, 'made up 1': 1, '(other)': 3 })
  expect(read(SPRING)).not.toHaveProperty('incomplete_days')

  add({ did: 'a', utm: SPRING, event: 'made up 4', customer: 'another' })
  expect(read(SPRING, 'another').events).toEqual({ 'made up 4': 1 })

  // The next day more are kept.
  add({ did: 'a', event: 'made up 4', day: 1 })
  expect(read(SPRING).events).toMatchObject({ 'made up 4': 1, '(other)': 3 })
  close()
})

test('events of devices beyond a day’s bound are left out, and the report names the day', () => {
  const { add, read, close } = open({ devices: 3 })
  add(...made(5, (i) => ({ did: `d-${i}`, utm: SPRING })))
  add(...made(5, (i) => ({ did: `d-${i}`, at: 1 })))
  expect(read(SPRING)).toMatchObject({
    ...{ visitors: 3, events: { view_page: 6 }, incomplete_days: ['2026-11-02'] },
  })
  add({ did: 'd-0', utm: SPRING, customer: 'another' })
  expect(read(SPRING, 'another')).not.toHaveProperty('incomplete_days')

  // Those that are known are counted on every day, and each day there is room for new ones.
  add(...made(5, (i) => ({ did: `d-${i}`, utm: SPRING, day: 1 })))
  expect(read(SPRING)).toMatchObject({ visitors: 5, incomplete_days: ['2026-11-02'] })
  add(...made(4, (i) => ({ did: `e-${i}`, utm: SPRING, day: 2 })))
  expect(read(SPRING)).toMatchObject({
    ...{ visitors: 8, incomplete_days: ['2026-11-02', '2026-11-04'] },
  })
  close()
})

test('a clock that was wrong once does not hold a bound', () => {
  const { add, read, close } = open({ devices: 1 })
  add({ did: 'a', utm: SPRING, day: 30_000 }, { did: 'b', utm: SPRING })
  add({ did: 'c', utm: SPRING, day: 1 })
  expect(read(SPRING).visitors).toBe(3)
  close()
})

test('a visit by utm values beyond a day’s bound ends the campaign before it', () => {
  const { add, create, read, close } = open({ utms: 2 })
  create(SPRING)
  add({ did: 'a', utm: SPRING, event: 'visit' })
  add(...made(9, (i) => ({ did: `s-${i}`, utm: utmOf(`made up ${i}`) })))
  add({ did: 'a', utm: utmOf('made up 9'), at: 1 }, { did: 'a', event: 'lost', at: 2 })
  add({ did: 'b', utm: utmOf('made up 10'), at: 2 }, { did: 'b', event: 'lost', at: 3 })
  // Late, in front of the other one's, and behind it.
  add({ did: 'b', utm: SPRING, event: 'visit' }, { did: 'b', event: 'kept', at: 1 })
  add({ did: 'a', utm: SPRING, event: 'visit', at: 3 }, { did: 'a', event: 'kept', at: 4 })
  expect(read(SPRING)).toMatchObject({ visitors: 2, events: { visit: 3, kept: 2 } })
  expect(read(SPRING)).not.toHaveProperty('incomplete_days')
  expect(read(utmOf('made up 1'))).toMatchObject({ visitors: 1 })
  expect(read(utmOf('made up 9'))).toMatchObject({
    ...{ visitors: 0, events: {}, incomplete_days: ['2026-11-02'] },
  })
  close()
})

test('a campaign that is created is counted, however many utm values were made up before', () => {
  const { add, create, read, recount, close } = open({ utms: 2 })
  add({ did: 'early', utm: utmOf('early') })
  add(...made(9, (i) => ({ did: `s-${i}`, utm: utmOf(`made up ${i}`) })))
  // Its first visits came in time, so it needs no number when it is created.
  create(utmOf('early'))
  add({ did: 'later', utm: utmOf('early'), at: 1 })
  expect(read(utmOf('early'))).toMatchObject({ visitors: 2 })
  expect(read(utmOf('early'))).not.toHaveProperty('incomplete_days')

  // Of this one a visit came in the flood, before anybody knew it as a campaign.
  add({ did: 'a', utm: SPRING })
  create(SPRING)
  add({ did: 'b', utm: SPRING }, { did: 'c', utm: utmOf('made up 99') })
  add({ did: 'd', utm: SPRING, day: 1 })
  expect(read(SPRING)).toMatchObject({ visitors: 2, incomplete_days: ['2026-11-02'] })
  create(utmOf('later'))
  add(...made(9, (i) => ({ did: `t-${i}`, utm: utmOf(`made up too ${i}`), day: 1 })))
  add({ did: 'e', utm: utmOf('later'), day: 1 })
  expect(read(utmOf('later'))).toMatchObject({ visitors: 1, incomplete_days: ['2026-11-02'] })
  // Counted again, all of its visits are.
  recount()
  expect(read(SPRING)).toMatchObject({ visitors: 3 })
  expect(read(SPRING)).not.toHaveProperty('incomplete_days')
  expect(read(utmOf('later'))).toMatchObject({ visitors: 1 })
  close()
})

test('the campaigns of all customers are known before any event is counted', () => {
  const { append, create, count, read, close } = open({ utms: 0 })
  const campaigns = Array.from({ length: 600 }, (_, i) => utmOf(`campaign ${i}`))
  for (const utm of campaigns) create(utm)
  create(SPRING, 'another')
  create(utmOf('by sms'), 'demo', 'sms')
  const visits = campaigns.map((utm, i) => makeEvent({ did: `d-${i}`, utm }))
  append([...visits, makeEvent({ did: 'a', utm: SPRING, customer: 'another' })])
  append([makeEvent({ did: 'a', utm: utmOf('by sms') }), makeEvent({ did: 'a', utm: SPRING })])
  count()
  expect(campaigns.filter((utm) => read(utm).visitors !== 1)).toEqual([])
  expect(read(SPRING, 'another').visitors).toBe(1)
  // Neither a customer's own nor of e-mail.
  expect(read(SPRING).visitors).toBe(0)
  expect(read(utmOf('by sms')).visitors).toBe(0)
  close()
})

test('within the bounds a campaign may be created after its visits', () => {
  const { add, create, read, close } = open({})
  add(...made(3, (i) => ({ did: `d-${i}`, utm: SPRING })), { did: 'd-0', utm: utmOf('x'), at: 1 })
  create(SPRING)
  add({ did: 'd-3', utm: SPRING })
  expect(read(SPRING)).toMatchObject({ visitors: 4, events: { view_page: 4 } })
  expect(read(SPRING)).not.toHaveProperty('incomplete_days')
  close()
})

test('what is left out depends on the log alone, not on who counts it when', () => {
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
        const { append, count, read, recount, close } = open({ devices: 2, utms: 1, names: 2 })
        const readAll = () =>
          ['demo', 'another'].flatMap((customer) =>
            [SPRING, ...['x', 'y', 'z'].map(utmOf)].map((utm) => read(utm, customer)),
          )
        append(given.sort((a, b) => a.day - b.day).map(makeEvent))
        count(slice)
        const figures = readAll()
        recount()
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
])('an event takes a bounded room in the file, whatever is made up: %s', (_, give) => {
  const { add, create, reportsFile, close } = open({ names: 50, utms: 50 })
  create(SPRING)
  const EVENTS = 4_000
  add(
    ...made(EVENTS, (i) => ({
      ...{ did: randomUUID(), event: `${i}`.padEnd(200, '漢'), operation: 'addToCart' },
      // As many days as are believed.
      at: -(i % 400) * DAY_MS,
      ...give(i),
    })),
  )
  close()
  expect(statSync(reportsFile).size / EVENTS).toBeLessThan(400)
})
