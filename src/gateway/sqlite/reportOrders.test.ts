import { rmSync } from 'node:fs'
import { join } from 'node:path'
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
  makeEvent,
  openReportShop,
  order,
  SEARCH,
  SPRING,
  status,
  visit,
  WEEK,
} from '../../test/reportShop.ts'
import type { ReportFigures } from '../campaigns/report.ts'
import { DEFAULT_VIEW } from '../campaigns/reportView.ts'
import type { LogEvent } from '../collect/eventLog.ts'
import {
  AFTER_VISIT,
  MAX_ADDRESS_DEVICES,
  MAX_ADDRESS_ORDERS,
  MAX_DEVICE_ADDRESSES,
} from './reportOrders.ts'
import { openReports } from './reportTables.ts'

/** The orders of a report, and their attribution. */
const folder = makeFolder()
afterAll(() => rmSync(folder, { recursive: true }))

function figuresOf(events: readonly LogEvent[], utm = SPRING, view = DEFAULT_VIEW): ReportFigures {
  const shop = openReportShop(folder)
  shop.append(events)
  const figures = shop.read(utm, view)
  shop.end()
  return figures
}

const B = { did: 'd-2' }
const BOT = { bot: true }
test.each<[string, LogEvent[], spring: number, autumn: number]>([
  ['an order after a visit', [gives(0), visit(0), order(1)], 1, 0],
  ['without an address no order', [visit(0), order(1)], 0, 0],
  ['of another address', [gives(0, 'eva@shop.test'), visit(0), order(1)], 0, 0],
  ['in any case and Unicode form', [gives(0, 'ANA@Shop.test'), visit(0), order(1)], 1, 0],
  ['given long before', [gives(-300 * DAY), visit(0), order(1)], 1, 0],
  ['given exactly an hour after', [visit(0), order(1), gives(HOUR + 1)], 1, 0],
  ['given more than an hour after', [visit(0), order(1), gives(HOUR + 2)], 0, 0],
  ['given first too late, then in time', [visit(0), order(1), gives(2 * HOUR), gives(2)], 1, 0],
  [
    'a custom event gives it too',
    [visit(0), makeEvent({ operation: 'sendCustom', payload: { email: ANA } }), order(1)],
    1,
    0,
  ],
  ['exactly seven days after the visit', [gives(0), visit(0), order(WEEK)], 1, 0],
  ['a millisecond more', [gives(0), visit(0), order(WEEK + 1)], 0, 0],
  ['at the same time as the visit', [gives(0), visit(5), order(5)], 1, 0],
  ['before the visit', [gives(0), visit(6), order(5)], 0, 0],
  ['the last visit gets it', [gives(0), visit(0), visit(1, AUTUMN), order(2)], 0, 1],
  ['also if it arrives last', [gives(0), order(2), visit(1, AUTUMN), visit(0)], 0, 1],
  [
    'of another device',
    [gives(0), visit(1), gives(0, ANA, B), visit(0, AUTUMN, B), order(2)],
    1,
    0,
  ],
  [
    'of another device, later',
    [gives(0), visit(0), gives(0, ANA, B), visit(1, AUTUMN, B), order(2)],
    0,
    1,
  ],
  ['a visit of no known campaign takes it', [gives(0), visit(0), visit(1, SEARCH), order(2)], 0, 0],
  ['a save again is the same order', [gives(0), visit(0), order(1), order(WEEK)], 1, 0],
  ['the time is that of the first save', [gives(0), visit(1), order(2 * WEEK), order(2)], 1, 0],
  [
    'the newest address counts',
    [gives(0), visit(0), order(1), order(2, { email: 'eva@shop.test' })],
    0,
    0,
  ],
  [
    'and a new one gets its visit',
    [gives(0), visit(0), order(1, { email: 'eva@shop.test' }), order(2)],
    1,
    0,
  ],
  ['of another customer', [gives(0), visit(0), order(1, { customer: 'another' })], 0, 0],
  [
    'of a number that another customer has too',
    [gives(0), visit(0), order(1), order(2, { customer: 'another', total: 1 })],
    1,
    0,
  ],
  ['a bot gets none', [gives(0, ANA, BOT), visit(0, SPRING, BOT), order(1)], 0, 0],
  [
    'a later visit of a bot takes none away',
    [gives(0), visit(0), gives(0, ANA, BOT), visit(1, AUTUMN, BOT), order(2)],
    1,
    0,
  ],
  ['a status alone is no order', [gives(0), visit(0), status(1, 'complete')], 0, 0],
])('%s', (_, events, spring, autumn) => {
  const found = [figuresOf(events), figuresOf(events, AUTUMN)].map(({ orders, revenue }) => ({
    orders,
    revenue,
  }))
  expect(found).toEqual(
    [spring, autumn].map((orders) => ({
      orders,
      revenue: `${orders * 10}.${'00'}`.replace(/^0\d*\./, '0.'),
    })),
  )
  const naive = createNaiveReports(events, 'demo')
  for (const utm of [SPRING, AUTUMN])
    expect(figuresOf(events, utm)).toEqual(naive.read(utm, DEFAULT_VIEW))
})

test('sums, averages and refunds by status, and other currencies apart', () => {
  const events = [
    gives(0),
    visit(0),
    visit(0, SPRING, B),
    visit(0, SPRING, { did: 'd-3' }),
    order(1, { number: 'A', total: 1001 }),
    order(1 + DAY, { number: 'B', total: 999 }),
    order(1 + DAY, { number: 'C', total: -50 }),
    order(2, { number: 'D', total: 70_000, currency: 'JPY' }),
    status(3, 'complete', 'A'),
    status(4, ' Refunded ', 'B'),
    status(4, 'refunded', 'D'),
  ]
  expect(figuresOf(events)).toMatchObject({
    currency: 'EUR',
    visitors: 3,
    orders: 3,
    revenue: '19.50',
    average_order: '6.50',
    revenue_per_visitor: '6.50',
    funnel: { order: 1 },
    statuses: {
      complete: { orders: 1, revenue: '10.01' },
      refunded: { orders: 1, revenue: '9.99' },
      '(none)': { orders: 1, revenue: '-0.50' },
    },
    refunds: {
      ...{ orders: 1, revenue: '9.99' },
      statuses: { refunded: { orders: 1, revenue: '9.99' } },
    },
    other_currencies: { JPY: { orders: 1, revenue: '70000' } },
    days: [
      { date: '2026-10-19', orders: 1, revenue: '10.01' },
      { date: '2026-10-20', visitors: 0, orders: 2, revenue: '9.49' },
    ],
  })
  const yen = figuresOf(events, SPRING, { ...DEFAULT_VIEW, currency: 'JPY', refundStatuses: [] })
  expect(yen).toMatchObject({
    ...{ orders: 1, revenue: '70000', average_order: '70000', revenue_per_visitor: '23333' },
    refunds: { orders: 0, revenue: '0', statuses: {} },
    other_currencies: { EUR: { orders: 3, revenue: '19.50' } },
  })
})

test('a status that arrives before its order applies to it, and the last status counts', () => {
  const events = [gives(0), visit(0), status(0, 'new'), order(1)]
  expect(figuresOf(events).statuses).toEqual({ new: { orders: 1, revenue: '10.00' } })
  const later = [...events, status(2, 'Complete'), status(1, 'cancelled')]
  expect(figuresOf(later).refunds).toMatchObject({ orders: 1, revenue: '10.00' })
  const back = figuresOf([...later, status(3, 'complete')])
  expect(back).toMatchObject({ refunds: { orders: 0, revenue: '0.00', statuses: {} } })
  expect(back.statuses).toEqual({ complete: { orders: 1, revenue: '10.00' } })
})

test('an order that is saved again after the setting has changed is in the new currency', () => {
  const shop = openReportShop(folder)
  shop.append([gives(0), visit(0), order(1, { number: 'A' }), order(1, { number: 'B' })])
  expect(shop.read()).toMatchObject({ orders: 2, revenue: '20.00', other_currencies: {} })
  shop.append([order(2, { number: 'A', total: 5_500, currency: 'RON' })])
  const view = { ...DEFAULT_VIEW, currency: 'RON' }
  expect(shop.read(SPRING, view)).toMatchObject({
    ...{ orders: 1, revenue: '55.00', funnel: { order: 1 } },
    other_currencies: { EUR: { orders: 1, revenue: '10.00' } },
  })
  shop.end()
})

test('amounts above 2^53 are added up exactly', () => {
  const most = Number.MAX_SAFE_INTEGER
  const events = [
    gives(0),
    visit(0),
    ...['1', '2', '3'].map((number) => order(1, { number, total: most })),
  ]
  expect(figuresOf(events).revenue).toBe('270215977642229.73')
})

test('at most 20 statuses are shown', () => {
  const numbers = Array.from({ length: 25 }, (_, i) => `${i}`)
  const events = [
    gives(0),
    visit(0),
    ...numbers.flatMap((number) => [order(1, { number }), status(1, `state ${number}`, number)]),
    order(1, { number: 'more' }),
    status(1, 'state 24', 'more'),
  ]
  const { statuses } = figuresOf(events)
  expect(Object.keys(statuses)).toHaveLength(21)
  expect(Object.entries(statuses)[0]).toEqual(['state 24', { orders: 2, revenue: '20.00' }])
  expect(statuses['(other)']).toEqual({ orders: 5, revenue: '50.00' })
})

test('bots are counted apart, and with the others if they are included', () => {
  const events = [
    visit(0),
    visit(0, SPRING, BOT),
    visit(1, SPRING, { ...BOT, did: 'd-2', event: 'open' }),
    makeEvent({ ...BOT, at: 2, did: 'd-2', operation: 'viewProduct' }),
  ]
  expect(figuresOf(events)).toMatchObject({
    ...{ visitors: 1, events: { view_page: 1 }, funnel: { view_product: 0 } },
    bots: { visitors: 2, events: 3, included: false },
  })
  expect(figuresOf(events, SPRING, { ...DEFAULT_VIEW, bots: true })).toMatchObject({
    ...{ visitors: 3, events: { view_page: 3, open: 1 }, funnel: { view_product: 1 } },
    bots: { visitors: 2, events: 3, included: true },
  })
})

test('days are those of the time zone, also when it changes', () => {
  const shop = openReportShop(folder)
  // Half past ten in the evening of the last day of summer time, and of the day after.
  shop.append([5 * DAY + 19.5 * HOUR, 6 * DAY + 20.5 * HOUR].map((at) => visit(at)))
  const datesIn = (timeZone: string) =>
    shop.read(SPRING, { ...DEFAULT_VIEW, timeZone }).days.map(({ date }) => date)
  expect(datesIn('UTC')).toEqual(['2026-10-24', '2026-10-25'])
  expect(datesIn('Europe/Bucharest')).toEqual(['2026-10-24', '2026-10-25'])
  expect(datesIn('Asia/Tokyo')).toEqual(['2026-10-25', '2026-10-26'])
  expect(datesIn('UTC')).toEqual(['2026-10-24', '2026-10-25'])
  shop.end()
})

test('programs that use one address or one device for everything reach bounds', () => {
  const orders = Array.from({ length: MAX_ADDRESS_ORDERS + 5 }, (_, i) =>
    order(1, { number: `${i}` }),
  )
  expect(figuresOf([gives(0), visit(0), ...orders]).orders).toBe(MAX_ADDRESS_ORDERS)
  const addresses = Array.from({ length: MAX_DEVICE_ADDRESSES + 5 }, (_, i) => `a${i}@shop.test`)
  const ofDevice = addresses.flatMap((email, i) => [
    gives(0, email),
    order(1, { number: `${i}`, email }),
  ])
  expect(figuresOf([visit(0), ...ofDevice]).orders).toBe(MAX_DEVICE_ADDRESSES)
  const devices = Array.from({ length: MAX_ADDRESS_DEVICES }, (_, i) =>
    gives(0, ANA, { did: `x${i}` }),
  )
  expect(figuresOf([...devices, gives(0), visit(0), order(1)]).orders).toBe(0)
})

const ZONES = ['UTC', 'Europe/Bucharest', 'America/New_York', 'Asia/Kathmandu']
const EMAILS = ['ana@shop.test', 'Ana@Shop.Test', 'eva@shop.test', 'x@shop.test']
const anyTime = fc.oneof(
  // Often at the same time, an hour or exactly seven days apart.
  fc.integer({ min: 0, max: 4 }).map((n) => n * 3.5 * DAY),
  fc
    .tuple(fc.integer({ min: 0, max: 4 }), fc.constantFrom(-HOUR - 1, -HOUR, 1, HOUR))
    .map(([n, ms]) => n * 3.5 * DAY + ms),
  fc.integer({ min: 0, max: 14 * 24 }).map((hours) => hours * HOUR),
)
const anyDevice = fc.record({
  did: fc.constantFrom('d-1', 'd-1', 'd-2', 'd-3'),
  bot: fc.constantFrom(false, false, false, true),
})
const anyUtm = fc.constantFrom(SPRING, SPRING, AUTUMN, SEARCH)
const anyNumber = fc.constantFrom('1', '2', '3', '4')
const anyRecord = fc.oneof(
  fc.tuple(anyTime, anyUtm, anyDevice).map(([at, utm, device]) => visit(at, utm, device)),
  fc
    .tuple(anyTime, anyDevice, fc.constantFrom('viewProduct', 'addToCart', 'initiateCheckout'))
    .map(([at, device, operation]) => makeEvent({ at, operation, event: operation, ...device })),
  fc
    .tuple(
      anyTime,
      fc.constantFrom(...EMAILS),
      anyDevice,
      fc.constantFrom(undefined, undefined, AUTUMN),
    )
    .map(([at, email, device, utm]) => gives(at, email, { ...device, utm })),
  fc
    .tuple(
      ...([anyTime, anyNumber, fc.constantFrom(...EMAILS)] as const),
      ...([fc.integer({ min: -500, max: 90_000 }), fc.constantFrom('EUR', 'EUR', 'JPY')] as const),
    )
    .map(([at, number, email, total, currency]) => order(at, { number, email, total, currency })),
  fc
    .tuple(anyTime, fc.constantFrom('complete', 'Refunded ', 'FAILED', '__proto__'), anyNumber)
    .map(([at, text, number]) => status(at, text, number)),
)
const anyView = fc.record({
  timeZone: fc.constantFrom(...ZONES),
  currency: fc.constantFrom('EUR', 'EUR', 'JPY'),
  refundStatuses: fc.constantFrom(['refunded', 'failed'], []),
  bots: fc.boolean(),
})

test('a report counts what a naive count counts, in whatever order everything arrived', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.tuple(
          fc.array(anyRecord, { maxLength: 25, size: 'max' }),
          fc.constantFrom('follow', 'reopen', 'rebuild', 'nothing'),
          anyView,
        ),
        { maxLength: 4 },
      ),
      fc.integer({ min: 1, max: 20 }),
      (given, slice) => {
        const shop = openReportShop(folder)
        const stored: LogEvent[] = []
        for (const [events, step, view] of given) {
          // An id comes again.
          const more = [...events, ...stored.slice(0, 1)]
          shop.append(more)
          stored.push(...more)
          if (step === 'follow') shop.follow(slice)
          else if (step !== 'nothing') shop[step]()
          const naive = createNaiveReports(stored, 'demo')
          for (const utm of [SPRING, AUTUMN, SEARCH])
            expect(shop.read(utm, view)).toEqual(naive.read(utm, view))
        }
        shop.end()
      },
    ),
    { numRuns: 60 },
  )
}, 120_000)

test('a visit reads the orders of the addresses of its device, and no others', () => {
  const database = openReports(join(folder, 'plan.db'))
  const steps = database
    .prepare<[object], { detail: string }>(`EXPLAIN QUERY PLAN ${AFTER_VISIT}`)
    .all({ customer: 1, device: Buffer.alloc(16), from: 0, to: WEEK })
  database.close()
  expect(steps.map(({ detail }) => detail)).toEqual([
    'SEARCH links USING INDEX links_by_device (customer=? AND device=?)',
    'SEARCH orders USING INDEX orders_by_address (customer=? AND address=? AND at>? AND at<?)',
  ])
})
