import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { makeFolder } from '../../test/gateway.ts'
import { createNaiveReports } from '../../test/naiveReport.ts'
import {
  ANA,
  AUTUMN,
  DAY,
  gives,
  HOUR,
  MONDAY,
  makeEvent,
  openReportShop,
  order,
  SEARCH,
  SPRING,
  status,
  visit,
} from '../../test/reportShop.ts'
import { DEFAULT_VIEW } from '../campaigns/reportView.ts'
import type { LogEvent } from '../collect/eventLog.ts'
import { CLOSED_ORDERS_MS, createOrdersForgetting } from './reportOrdersForgetting.ts'
import { openReports } from './reportTables.ts'

/** Orders when events are removed, by age and by erasure. */
const folder = makeFolder()
afterAll(() => rmSync(folder, { recursive: true }))

const bytes = (id: string) => Buffer.from(id.replaceAll('-', ''), 'hex')

test('orders of a removed day are still counted, and later ones for the same visit too', () => {
  const shop = openReportShop(folder)
  shop.append([gives(0), visit(1), order(2, { number: 'A' }), status(3, 'complete', 'A')])
  const before = shop.read()
  expect(before).toMatchObject({ orders: 1, visitors: 1, funnel: { order: 1 } })
  shop.sweep(MONDAY + DAY)
  expect(shop.store.read({ max: 9 })).toEqual([])
  expect(shop.read()).toEqual(before)
  shop.append([order(3 * DAY, { number: 'B', total: 500 })])
  expect(shop.read()).toMatchObject({
    ...{ orders: 2, revenue: '15.00', visitors: 1, funnel: { order: 1 } },
    statuses: { complete: { orders: 1 }, '(none)': { orders: 1 } },
  })
  shop.end()
})

test('a closed order keeps its status and amount, and is not counted again when it is saved again', () => {
  const shop = openReportShop(folder)
  shop.append([gives(0), visit(1), order(2, { number: 'A' })])
  shop.sweep(MONDAY + DAY)
  const before = shop.read()
  shop.append([
    ...[gives(2 * DAY), visit(2 * DAY + 1), order(2 * DAY + 2, { number: 'A', total: 1 })],
    status(2 * DAY + 3, 'refunded', 'A'),
  ])
  const { orders, revenue, refunds } = shop.read()
  expect({ orders, revenue, refunds }).toEqual({
    ...{ orders: before.orders, revenue: before.revenue, refunds: before.refunds },
  })
  // The number is forgotten in the end.
  const count = () => {
    const database = new Database(shop.reportsFile, { readonly: true })
    const found = database.prepare('SELECT count(*) FROM orders').pluck().get()
    database.close()
    return found
  }
  expect(count()).toBe(1)
  shop.sweep(MONDAY + 3 * DAY + CLOSED_ORDERS_MS)
  expect(count()).toBe(0)
  shop.end()
})

test('a step that forgets looks at the links and orders of its customer only', () => {
  const database = openReports(join(folder, 'steps.db'))
  database.exec(`
    WITH RECURSIVE i (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 5000)
    INSERT INTO orders (customer, number, at, arrived, seq)
      SELECT iif(n <= 3, 2, 1), randomblob(16), n, n, n FROM i;
    INSERT INTO links (customer, address, device, bot, first, last)
      SELECT customer, number, number, 0, n, n FROM orders;
  `)
  const forget = createOrdersForgetting(database)
  const stepsOf = (customer: number, since: number): number => {
    let steps = 1
    for (let from = forget(customer, since); from; from = forget(customer, since, from)) steps++
    return steps
  }
  const left = () =>
    database
      .prepare('SELECT customer, count(*), count(seq) FROM orders GROUP BY customer')
      .raw()
      .all()
  const links = () =>
    database.prepare('SELECT customer, count(*) FROM links GROUP BY customer').raw().all()
  expect(stepsOf(2, 3)).toBe(2)
  expect(left()).toEqual([
    [1, 4_997, 4_997],
    [2, 3, 1],
  ])
  expect(links()).toEqual([
    [1, 4_997],
    [2, 1],
  ])
  expect(stepsOf(1, 5_001)).toBe(6)
  expect(left()[0]).toEqual([1, 4_997, 0])
  expect(stepsOf(1, 5_001 + CLOSED_ORDERS_MS)).toBe(4)
  expect(left()).toEqual([[2, 3, 1]])
  expect(links()).toEqual([[2, 1]])
  database.close()
})

test('a removed visit of an unknown campaign still takes an order', () => {
  const shop = openReportShop(folder)
  shop.append([gives(0), visit(1), gives(0, ANA, { did: 'd-2' }), visit(2, SEARCH, { did: 'd-2' })])
  shop.sweep(MONDAY + DAY)
  shop.append([order(2 * DAY)])
  expect(shop.read().orders).toBe(0)
  shop.end()
})

test('a visitor of a day that is closed in part counts once on it', () => {
  const shop = openReportShop(folder)
  const view = { ...DEFAULT_VIEW, timeZone: 'Europe/Bucharest' }
  // Half past eleven in the evening and a quarter past three in the morning (UTC): the same day in Bucharest.
  shop.append([visit(0), visit(23.5 * HOUR), makeEvent({ at: DAY + 0.25 * HOUR })])
  const before = shop.read(SPRING, view)
  expect(before.days.map(({ date, visitors }) => [date, visitors])).toEqual([
    ['2026-10-19', 1],
    ['2026-10-20', 1],
  ])
  shop.sweep(MONDAY + DAY, view.timeZone)
  expect(shop.read(SPRING, view)).toEqual(before)
  shop.end()
})

test('figures of bots are closed apart', () => {
  const shop = openReportShop(folder)
  shop.append([
    visit(0),
    visit(0, SPRING, { bot: true }),
    visit(0, SPRING, { bot: true, did: 'x' }),
  ])
  const views = [DEFAULT_VIEW, { ...DEFAULT_VIEW, bots: true }]
  const before = views.map((view) => shop.read(SPRING, view))
  shop.sweep(MONDAY + DAY)
  expect(views.map((view) => shop.read(SPRING, view))).toEqual(before)
  expect(before.map(({ visitors, bots }) => [visitors, bots.visitors])).toEqual([
    [1, 2],
    [3, 2],
  ])
  shop.end()
})

test('an order and a link with an address are erased with their events', () => {
  const shop = openReportShop(folder)
  const eva = { email: 'eva@shop.test', number: 'B' }
  const b = { did: 'd-2' }
  const [first, second] = [order(2), order(2, eva)]
  shop.append([gives(0), visit(1), gives(0, eva.email, b), visit(1, SPRING, b), first, second])
  expect(shop.read()).toMatchObject({ orders: 2, funnel: { order: 2 } })
  const eventOf = (id: string) => {
    const { seq, at, did } = shop.store.read({ max: 99 }).find((one) => one.id === id) ?? {}
    return [{ seq: seq ?? 0, at: at ?? 0, did: did ?? null, id: bytes(id) }]
  }
  shop.reports().forgetEvents('demo', eventOf(first.id))
  expect(shop.read()).toMatchObject({ orders: 1, visitors: 2, funnel: { order: 1 } })
  shop.reports().forgetDevices('demo', ['d-2'])
  shop.append([order(3, { ...eva, number: 'C' })])
  expect(shop.read()).toMatchObject({ orders: 0, visitors: 2 })
  shop.end()
})

test('an order is credited to another visit when its own is erased', () => {
  const shop = openReportShop(folder)
  const last = visit(2, SPRING, { did: 'd-2' })
  shop.append([gives(0), visit(1, AUTUMN), gives(0, ANA, { did: 'd-2' }), last, order(3)])
  expect([shop.read(SPRING).orders, shop.read(AUTUMN).orders]).toEqual([1, 0])
  const { seq, at, did, id } = shop.store.read({ max: 9 })[3] as typeof last & { seq: number }
  shop.reports().forgetEvents('demo', [{ seq, at, did, id: bytes(id) }])
  expect([shop.read(SPRING).orders, shop.read(AUTUMN).orders]).toEqual([0, 1])
  shop.end()
})

test('no address, number of an order or device is in the file', () => {
  const shop = openReportShop(folder)
  shop.append([
    gives(0),
    visit(1),
    order(2, { number: 'NUMBER-0001' }),
    status(3, 'new', 'NUMBER-0001'),
  ])
  expect(shop.read().orders).toBe(1)
  shop.reports().clearWal()
  const text = readFileSync(shop.reportsFile, 'latin1')
  for (const secret of [ANA, 'NUMBER-0001', 'd-1']) expect(text).not.toContain(secret)
  shop.end()
})

const anyTime = fc.oneof(
  fc.integer({ min: 0, max: 6 }).map((n) => n * 3.5 * DAY),
  fc.integer({ min: 0, max: 24 * 21 }).map((hours) => hours * HOUR),
)
const anyDevice = fc.record({
  did: fc.constantFrom('d-1', 'd-1', 'd-2'),
  bot: fc.constantFrom(false, false, false, true),
})
const anyEmail = fc.constantFrom(ANA, ANA, 'eva@shop.test')
const anyNumber = fc.integer({ min: 1, max: 9 }).map(String)
const anyRecord = fc.oneof(
  fc
    .tuple(anyTime, fc.constantFrom(SPRING, SPRING, AUTUMN, SEARCH), anyDevice)
    .map(([at, utm, device]) => visit(at, utm, device)),
  fc.tuple(anyTime, anyDevice).map(([at, device]) => makeEvent({ at, ...device })),
  fc.tuple(anyTime, anyEmail, anyDevice).map(([at, email, device]) => gives(at, email, device)),
  fc
    .tuple(anyTime, anyNumber, anyEmail, fc.integer({ min: -500, max: 90_000 }))
    .map(([at, number, email, total]) => order(at, { number, email, total })),
  fc
    .tuple(anyTime, fc.constantFrom('complete', 'refunded'), anyNumber)
    .map(([at, text, number]) => status(at, text, number)),
)

test('reports are the same before and after every removal', () => {
  fc.assert(
    fc.property(
      fc.array(anyRecord, { maxLength: 40, size: 'max' }),
      fc.array(
        fc.record({
          day: fc.integer({ min: 1, max: 21 }),
          retention: fc.integer({ min: 0, max: 10 }),
        }),
        { maxLength: 4 },
      ),
      fc.constantFrom('UTC', 'America/New_York', 'Asia/Kathmandu'),
      (given, sweeps, timeZone) => {
        const shop = openReportShop(folder)
        const events = [...given].sort((a, b) => a.at - b.at)
        const reportsOf = () =>
          [SPRING, AUTUMN].flatMap((utm) =>
            [false, true].map((bots) => shop.read(utm, { ...DEFAULT_VIEW, timeZone, bots })),
          )
        let stored = 0
        for (const { day, retention } of [...sweeps].sort((a, b) => a.day - b.day)) {
          const now = MONDAY + day * DAY
          const arrived = events.filter((event) => event.at < now).length
          shop.append(events.slice(stored, arrived))
          stored = Math.max(stored, arrived)
          const before = reportsOf()
          shop.sweep(now - retention * DAY, timeZone)
          expect(reportsOf()).toEqual(before)
        }
        shop.end()
      },
    ),
    { numRuns: 40 },
  )
}, 120_000)

test('an order that comes after a removal is credited as without it', () => {
  // Each device gives one address, with each visit: a link is forgotten after the visits.
  const anyVisit = fc
    .tuple(
      anyTime,
      fc.constantFrom(SPRING, SPRING, AUTUMN, SEARCH),
      fc.constantFrom('d-1', 'd-2', 'd-3'),
      fc.constantFrom(false, false, false, true),
    )
    .map(([at, utm, did, bot]) =>
      gives(at, did === 'd-3' ? 'eva@shop.test' : ANA, { did, bot, utm }),
    )
  const anyOrder = fc
    .tuple(anyTime, anyEmail, fc.integer({ min: 1, max: 90_000 }))
    .map(([at, email, total]) => ({ at, email, total }))
  fc.assert(
    fc.property(
      fc.array(anyVisit, { maxLength: 15, size: 'max' }),
      fc.array(anyOrder, { maxLength: 15, size: 'max' }),
      fc.array(fc.integer({ min: 1, max: 21 }), { maxLength: 4 }),
      (visits, orders, sweeps) => {
        const events = [
          ...visits,
          ...orders.map(({ at, ...given }, n) => order(at, { ...given, number: `${n}` })),
        ].sort((a, b) => a.at - b.at)
        const shop = openReportShop(folder)
        let stored = 0
        for (const day of [...sweeps].sort((a, b) => a - b)) {
          const arrived = events.filter(({ at }) => at < MONDAY + day * DAY).length
          shop.append(events.slice(stored, arrived))
          stored = Math.max(stored, arrived)
          shop.sweep(MONDAY + day * DAY)
        }
        shop.append(events.slice(stored))
        const naive = createNaiveReports(events, 'demo')
        for (const utm of [SPRING, AUTUMN])
          for (const bots of [false, true]) {
            const view = { ...DEFAULT_VIEW, bots }
            const [found, right] = [shop.read(utm, view), naive.read(utm, view)]
            expect([found.orders, found.revenue]).toEqual([right.orders, right.revenue])
            expect(found.days).toEqual(right.days)
          }
        shop.end()
      },
    ),
    { numRuns: 20 },
  )
}, 120_000)

test('what is erased while the log is followed is not counted, and everything else is', () => {
  fc.assert(
    fc.property(
      fc.array(anyRecord, { maxLength: 40, size: 'max' }),
      fc.integer({ min: 1, max: 8 }),
      // Slices of the log that are followed before and after each step.
      fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 1, maxLength: 9 }),
      fc.integer({ min: 1, max: 9 }),
      (given, batch, slices, slice) => {
        // An order is of one person.
        const events = given.map((event) => {
          const payload = JSON.parse(event.payload)
          if (event.operation !== 'saveOrder') return event
          const email_address = Number(payload.number) % 3 === 0 ? ANA : 'eva@shop.test'
          return { ...event, payload: JSON.stringify({ ...payload, email_address }) }
        })
        const dids = new Set(
          events.flatMap(({ did, payload }) =>
            JSON.parse(payload).email_address === ANA ? (did ?? []) : [],
          ),
        )
        const isErased = ({ did, payload }: LogEvent): boolean => {
          const { number, order_number } = JSON.parse(payload)
          return did === null ? Number(number ?? order_number) % 3 === 0 : dids.has(did)
        }
        const shop = openReportShop(folder)
        shop.append(events)
        const erasedIds = new Set(events.filter(isErased).map(({ id }) => id))
        const erased = shop.store
          .read({ max: 99 })
          .filter(({ id }) => erasedIds.has(id))
          .map(({ seq, at, did, id }) => ({ seq, at, did, id: bytes(id) }))
          .sort((a, b) => a.seq - b.seq)
        let steps = 0
        const followSome = () => {
          for (let i = slices[steps++ % slices.length] ?? 0; i > 0; i--)
            shop.reports().follow(slice)
        }
        for (let i = 0; i < erased.length; i += batch) {
          const some = erased.slice(i, i + batch)
          followSome()
          shop.reports().forgetEvents('demo', some)
          followSome()
          shop.store.removeEvents(some.map(({ seq }) => seq))
          followSome()
          shop.reports().forgetEvents('demo', some)
        }
        const naive = createNaiveReports(
          events.filter((event) => !isErased(event)),
          'demo',
        )
        for (const utm of [SPRING, AUTUMN])
          for (const bots of [false, true]) {
            const view = { ...DEFAULT_VIEW, bots }
            expect(shop.read(utm, view)).toEqual(naive.read(utm, view))
          }
        shop.end()
      },
    ),
    { numRuns: 40 },
  )
}, 120_000)
