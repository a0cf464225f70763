import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { makeCampaignRow } from '../../test/campaignRow.ts'
import { makeFolder } from '../../test/gateway.ts'
import { NO_ORDERS, NO_ORDERS_OF_DAY } from '../../test/reportFields.ts'
import type { ReportFigures } from '../campaigns/report.ts'
import type { Utm } from '../campaigns/utm.ts'
import type { LogEvent } from '../collect/eventLog.ts'
import { toCells } from './cells.ts'
import type { ReportBounds } from './reportConnection.ts'
import { openReportStore, type ReportStore } from './reportStore.ts'
import { openStore } from './store.ts'

/** The figures of a report, in whatever order the log got its events and was read. */
const folder = makeFolder()
let files = 0
afterAll(() => rmSync(folder, { recursive: true }))

const DAY_MS = 86_400_000
const MONDAY = Date.UTC(2026, 10, 2, 12)
const SPRING: Utm = { utm_campaign: 'spring', utm_medium: 'email', utm_source: 'news' }
const AUTUMN: Utm = { utm_campaign: 'autumn', utm_medium: 'email', utm_source: 'news' }
const PARTIAL: Utm = { utm_campaign: 'spring', utm_medium: '', utm_source: '' }
const BOTS = { visitors: 0, events: 0, included: false }
const NONE: ReportFigures = {
  ...NO_ORDERS,
  bots: BOTS,
  from: null,
  to: null,
  visitors: 0,
  identified: 0,
  events: {},
  funnel: { view_product: 0, add_to_cart: 0, initiate_checkout: 0, order: 0 },
  days: [],
}

const addressOf = (utm: Utm): string =>
  `https://shop.test/?${new URLSearchParams(Object.entries(utm).filter(([, value]) => value))}`

type Given = Partial<Omit<LogEvent, 'payload'>> & { url?: string; utm?: Utm }

const makeEvent = ({
  utm,
  url = utm ? addressOf(utm) : 'https://shop.test/p',
  ...given
}: Given) => ({
  customer: 'demo',
  id: randomUUID(),
  at: MONDAY,
  receivedAt: MONDAY + 500,
  operation: 'viewHomepage',
  event: 'view_page',
  did: 'd-1',
  bot: false,
  version: null,
  payload: JSON.stringify({ url }),
  ...given,
})

/** Two stores over one log, as two gateways have. `turns` has the store of each step. Default the first. */
function openReports(
  events: readonly LogEvent[],
  {
    slice = 1_000,
    turns = [0] as readonly number[],
    campaigns = [] as readonly string[],
    ...bounds
  }: {
    slice?: number
    turns?: readonly number[]
    /** Customers with an e-mail campaign. The events of the others are counted from their first report on. */
    campaigns?: readonly string[]
  } & Partial<ReportBounds> = {},
) {
  files++
  const eventsFile = join(folder, `events-${files}.db`)
  const reportsFile = join(folder, `reports-${files}.db`)
  let log = openStore(eventsFile)
  const open = () =>
    [0, 1].map(() => openReportStore({ eventsFile, reportsFile }, bounds)) as ReportStore[]
  let stores = open()
  let turn = 0
  const storeInTurn = () => stores[turns[turn++ % turns.length] ?? 0] as ReportStore
  const close = () => {
    for (const store of stores) store.close()
  }
  const remove = (file: string) => {
    for (const end of ['', '-wal', '-shm']) rmSync(file + end, { force: true })
  }
  const append = (more: readonly LogEvent[]) => log.append(toCells(more))
  const follow = () => {
    while (!storeInTurn().follow(slice).isDone);
  }
  const addCampaigns = () => {
    for (const customer of campaigns) log.createCampaign(makeCampaignRow(customer, SPRING))
  }
  append(events)
  addCampaigns()
  return {
    append,
    follow,
    /** Reads the customer's events as far as the report needs, and no others. */
    read(utm: Utm, customer = 'demo') {
      const { newest } = log.findTail(customer, 1)
      for (;;) {
        const figures = storeInTurn().read(customer, utm, newest)
        if (figures) return figures
        storeInTurn().follow(slice, customer)
      }
    },
    reopen() {
      close()
      stores = open()
    },
    /** Deletes the reports, as if no gateway ran. */
    deleteReports() {
      close()
      remove(reportsFile)
      stores = open()
    },
    /** Deletes the log, as if no gateway ran, and stores these events in a new one. */
    replaceLog(again: readonly LogEvent[]) {
      close()
      log.close()
      remove(eventsFile)
      log = openStore(eventsFile)
      append(again)
      addCampaigns()
      stores = open()
    },
    close() {
      close()
      log.close()
    },
  }
}

function figuresOf(
  events: readonly LogEvent[],
  utm: Utm = SPRING,
  bounds: Partial<ReportBounds> = {},
): ReportFigures {
  const reports = openReports(events, bounds)
  const figures = reports.read(utm)
  reports.close()
  return figures
}

/** The rule of docs/decisions.md, "Attribution", from all events at once. */
function naive(events: readonly LogEvent[], customer: string, utm: Utm): ReportFigures {
  const counted = devicesOf(events.filter((event) => event.customer === customer)).flatMap(
    (trail) => trail.filter((_, i) => campaignAt(trail, i) === addressOf(utm)),
  )
  const devices = (some: readonly LogEvent[]) => new Set(some.map(({ did }) => did)).size
  const of = (...operations: string[]) =>
    counted.filter(({ operation }) => operations.includes(operation))
  const dates = counted.map(({ at }) => new Date(at).toISOString().slice(0, 10)).sort()
  const from = dates[0] ?? null
  const to = dates.at(-1) ?? null
  const days: ReportFigures['days'][number][] = []
  for (let at = Date.parse(`${from}`); at <= Date.parse(`${to}`); at += DAY_MS) {
    const date = new Date(at).toISOString().slice(0, 10)
    const onDay = (some: readonly LogEvent[]) =>
      some.filter((event) => new Date(event.at).toISOString().startsWith(date))
    days.push({
      date,
      visitors: devices(onDay(counted)),
      add_to_cart: onDay(of('addToCart')).length,
      initiate_checkout: onDay(of('initiateCheckout')).length,
      ...NO_ORDERS_OF_DAY,
    })
  }
  return {
    ...NO_ORDERS,
    bots: BOTS,
    from,
    to,
    visitors: devices(counted),
    identified: devices(of('setEmail', 'sendCustom')),
    events: Object.fromEntries(
      [...new Set(counted.map(({ event }) => event))].map((name) => [
        name,
        counted.filter(({ event }) => event === name).length,
      ]),
    ),
    funnel: {
      view_product: devices(of('viewProduct')),
      add_to_cart: devices(of('addToCart')),
      initiate_checkout: devices(of('initiateCheckout')),
      order: 0,
    },
    days,
  }
}

/** Each device's events in their order, each id once. */
function devicesOf(events: readonly LogEvent[]): LogEvent[][] {
  const byDevice = new Map<string, Map<string, LogEvent>>()
  const seen = new Set<string>()
  for (const event of events) {
    if (seen.has(event.id)) continue
    seen.add(event.id)
    if (event.did === null) continue
    const trail = byDevice.get(event.did) ?? new Map()
    byDevice.set(event.did, trail.set(event.id, event))
  }
  return [...byDevice.values()].map((trail) =>
    [...trail.values()].sort((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1)),
  )
}

/** Address of the last visit at or before an event, at most 7 days back. */
function campaignAt(trail: readonly LogEvent[], i: number): string | undefined {
  const visit = trail
    .slice(0, i + 1)
    .filter((event) => event.payload.includes('utm_'))
    .at(-1)
  const isNear = visit && (trail[i] as LogEvent).at - visit.at <= 7 * DAY_MS
  return isNear ? JSON.parse(visit.payload).url : undefined
}

const idOf = (n: number): string => `00000000-0000-4000-8000-${`${n}`.padStart(12, '0')}`

const anyEvent = fc.record({
  customer: fc.constantFrom('demo', 'another'),
  // Some twice.
  id: fc.integer({ min: 1, max: 60 }).map(idOf),
  // Often at the same time, or exactly 7 days apart.
  at: fc.oneof(
    fc.integer({ min: 0, max: 4 }).map((n) => MONDAY + n * 3.5 * DAY_MS),
    fc.integer({ min: 0, max: 20 * DAY_MS }).map((ms) => MONDAY + ms),
  ),
  operation: fc.constantFrom(
    ...['viewHomepage', 'viewProduct', 'addToCart', 'initiateCheckout', 'setEmail', 'sendCustom'],
  ),
  event: fc.constantFrom('view_page', 'de_add_to_cart', '__proto__', 'constructor'),
  did: fc.constantFrom('d-1', 'd-1', 'd-2', 'd-3', null),
  utm: fc.constantFrom(undefined, undefined, undefined, SPRING, SPRING, AUTUMN, PARTIAL),
})

/**
 * Other ids in the same order, as another log has. A log is recognized by its last id, so none may be that of an event
 * of an earlier log.
 *
 * @param logs How many logs there were before.
 */
const renew = (id: string, logs: number): string =>
  `${Number(id.slice(0, 8)) + 10 ** logs}`.padStart(8, '0') + id.slice(8)

const anyStep = fc.constantFrom('nothing', 'follow', 'reopen', 'deleteReports', 'replaceLog')

test('a report counts all events in their order, however they arrived and were read', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.array(anyEvent, { maxLength: 20, size: 'max' }), anyStep), {
        maxLength: 5,
      }),
      fc.integer({ min: 1, max: 20 }),
      fc.array(fc.constantFrom(0, 1), { minLength: 1 }),
      fc.subarray(['demo', 'another']),
      (given, slice, turns, campaigns) => {
        const reports = openReports([], { slice, turns, campaigns })
        let stored: LogEvent[] = []
        let logs = 0
        for (const [events, step] of given) {
          const more = events.map(({ utm, ...event }) =>
            makeEvent({ ...event, ...(utm && { utm }) }),
          )
          reports.append(more)
          stored.push(...more)
          if (step === 'replaceLog') {
            const by = logs++
            stored = stored.reverse().map((event) => ({ ...event, id: renew(event.id, by) }))
            reports.replaceLog(stored)
          } else if (step !== 'nothing') reports[step]()
          for (const customer of ['demo', 'another'])
            for (const utm of [SPRING, AUTUMN, PARTIAL])
              expect(reports.read(utm, customer)).toEqual(naive(stored, customer, utm))
        }
        reports.close()
      },
    ),
    { numRuns: 60 },
  )
}, 120_000)

test('a campaign without visits has a report without figures', () => {
  expect(figuresOf([])).toEqual(NONE)
  expect(figuresOf([makeEvent({})])).toEqual(NONE)
  expect(figuresOf([makeEvent({ utm: AUTUMN })])).toEqual(NONE)
})

test('a visit and the events after it are counted, step by step', () => {
  const visit = makeEvent({ utm: SPRING })
  const later = (minutes: number, given: Given) =>
    makeEvent({ at: MONDAY + minutes * 60_000, ...given })
  expect(
    figuresOf([
      visit,
      later(1, { operation: 'viewProduct', event: 'de_view_product' }),
      later(2, { operation: 'viewProduct', event: 'de_view_product' }),
      later(3, { operation: 'addToCart', event: 'de_add_to_cart' }),
      later(2 * 1440, { operation: 'initiateCheckout', event: 'de_initiate_checkout' }),
      later(2 * 1440, { operation: 'setEmail', event: 'de_set_email' }),
      later(1, { did: 'd-2', utm: SPRING, operation: 'viewProduct', event: 'view_product' }),
    ]),
  ).toEqual({
    ...NO_ORDERS,
    bots: BOTS,
    from: '2026-11-02',
    to: '2026-11-04',
    visitors: 2,
    identified: 1,
    events: {
      de_view_product: 2,
      view_page: 1,
      de_add_to_cart: 1,
      de_initiate_checkout: 1,
      de_set_email: 1,
      view_product: 1,
    },
    funnel: { view_product: 2, add_to_cart: 1, initiate_checkout: 1, order: 0 },
    days: [
      {
        date: '2026-11-02',
        visitors: 2,
        add_to_cart: 1,
        initiate_checkout: 0,
        ...NO_ORDERS_OF_DAY,
      },
      {
        date: '2026-11-03',
        visitors: 0,
        add_to_cart: 0,
        initiate_checkout: 0,
        ...NO_ORDERS_OF_DAY,
      },
      {
        date: '2026-11-04',
        visitors: 1,
        add_to_cart: 0,
        initiate_checkout: 1,
        ...NO_ORDERS_OF_DAY,
      },
    ],
  })
})

/** Each row: a title, the events of a device in order of arrival, and the events that count for SPRING. */
const VISIT = (at: number, utm = SPRING): Given => ({ at: MONDAY + at, utm, event: `visit ${at}` })
const EVENT = (at: number): Given => ({ at: MONDAY + at, event: `event ${at}` })
const WEEK = 7 * DAY_MS
test.each<[string, Given[], string[]]>([
  ['exactly seven days', [VISIT(0), EVENT(WEEK)], ['visit 0', `event ${WEEK}`]],
  ['a millisecond more than seven days', [VISIT(0), EVENT(WEEK + 1)], ['visit 0']],
  [
    'another visit of the same campaign starts the seven days again',
    [VISIT(0), VISIT(WEEK), EVENT(2 * WEEK)],
    ['visit 0', `visit ${WEEK}`, `event ${2 * WEEK}`],
  ],
  ['an event before the visit', [EVENT(-1), VISIT(0)], ['visit 0']],
  ['another campaign ends it', [VISIT(0), VISIT(1, AUTUMN), EVENT(2)], ['visit 0']],
  ['some of the values are another campaign', [VISIT(0), VISIT(1, PARTIAL), EVENT(2)], ['visit 0']],
  ['a late event', [VISIT(0), VISIT(9, AUTUMN), EVENT(1)], ['visit 0', 'event 1']],
  ['a late visit takes over', [EVENT(1), EVENT(2), VISIT(0)], ['visit 0', 'event 1', 'event 2']],
  [
    'a late visit takes over from another campaign, up to the next visit',
    [VISIT(0, AUTUMN), EVENT(2), VISIT(3, AUTUMN), EVENT(4), VISIT(1)],
    ['visit 1', 'event 2'],
  ],
  [
    'a late visit of another campaign takes events over',
    [VISIT(0), EVENT(2), VISIT(1, AUTUMN)],
    ['visit 0'],
  ],
  [
    'a late visit takes over events that no visit reached',
    [VISIT(-WEEK), EVENT(2), VISIT(0)],
    [`visit ${-WEEK}`, 'visit 0', 'event 2'],
  ],
  [
    'a late visit lasts seven days',
    [EVENT(WEEK), EVENT(WEEK + 1), VISIT(0)],
    ['visit 0', `event ${WEEK}`],
  ],
  [
    'two events at the same time are in the order of their ids',
    [
      { ...EVENT(0), id: idOf(3) },
      { ...VISIT(0), id: idOf(2) },
      { ...EVENT(0), id: idOf(1), event: 'before' },
    ],
    ['visit 0', 'event 0'],
  ],
  ['another device', [VISIT(0), { ...EVENT(1), did: 'd-2' }], ['visit 0']],
  ['another customer', [VISIT(0), { ...EVENT(1), customer: 'another' }], ['visit 0']],
  ['no device', [VISIT(0), { ...EVENT(1), did: null }, { ...VISIT(2), did: null }], ['visit 0']],
  [
    'a bot',
    [
      { ...VISIT(0), bot: true, version: null },
      { ...EVENT(1), bot: true, version: null },
    ],
    [],
  ],
  [
    'escaped letters are the letters',
    [{ ...VISIT(0), url: addressOf(SPRING).replaceAll('utm_', '%75tm_') }],
    ['visit 0'],
  ],
  ...['u%74m_', 'ut%6D_', 'utm%5f', 'u%74%6d%5F'].map((name): [string, Given[], string[]] => [
    `escaped letters: ${name}`,
    [{ ...VISIT(0), url: addressOf(SPRING).replaceAll('utm_', name) }],
    ['visit 0'],
  ]),
  [
    'characters that the platform removes from an address are ignored',
    [{ ...VISIT(0), url: addressOf(SPRING).replaceAll('utm_', 'ut\nm_') }],
    ['visit 0'],
  ],
  [
    'an overlong device id',
    [VISIT(0), EVENT(1)].map((e) => ({ ...e, did: 'd'.repeat(999) })),
    ['visit 0', 'event 1'],
  ],
  [
    'a repeated parameter has its first value',
    [{ ...VISIT(0), url: `${addressOf(SPRING)}&utm_campaign=autumn` }],
    ['visit 0'],
  ],
])('%s', (_, given, expected) => {
  const { events } = figuresOf(given.map(makeEvent))
  expect(events).toEqual(Object.fromEntries(expected.map((name) => [name, 1])))
})

test('values are compared decoded and in their case', () => {
  const spaced = { utm_campaign: 'a b+c', utm_medium: 'șapte', utm_source: 'x' }
  const url = (campaign: string) =>
    `https://shop.test/?utm_campaign=${campaign}&utm_medium=%C8%99apte&utm_source=x`
  const events = ['a+b%2Bc', 'a%20b%2bc', 'A+b%2Bc'].map((campaign, i) =>
    makeEvent({ url: url(campaign), did: `d-${i}` }),
  )
  expect(figuresOf(events, spaced).visitors).toBe(2)
})

test('an event with the name of an object’s property is counted like others', () => {
  const { events } = figuresOf([
    makeEvent({ utm: SPRING, event: '__proto__' }),
    makeEvent({ utm: SPRING, event: '__proto__' }),
    makeEvent({ utm: SPRING, event: 'constructor' }),
  ])
  expect(JSON.stringify(events)).toBe('{"__proto__":2,"constructor":1}')
})

test('the hundred most frequent names are shown, the rest and overlong ones are added up', () => {
  const visit = makeEvent({ utm: SPRING, event: 'visit' })
  const events = Array.from({ length: 3_000 }, (_, i) =>
    makeEvent({ at: MONDAY + 1, event: `name ${i % 50 === 0 ? i / 50 : `rare ${i}`}` }),
  )
  const often = Array.from({ length: 198 }, (_, i) =>
    makeEvent({ at: MONDAY + 1, event: `name ${i % 99}` }),
  )
  const long = makeEvent({ at: MONDAY + 1, event: 'x'.repeat(201) })
  const own = makeEvent({ at: MONDAY + 1, event: '(other)' })
  const all = [visit, ...events, ...often, long, own]
  const shown = figuresOf(all, SPRING, { dailyNames: 5_000 }).events
  const names = Object.keys(shown)
  expect(names).toHaveLength(101)
  expect(names.slice(0, 60)).toEqual(Array.from({ length: 60 }, (_, i) => `name ${i}`))
  expect(names.at(-1)).toBe('(other)')
  expect(Object.values(shown).reduce((sum, n) => sum + n, 0)).toBe(1 + 3_000 + 198 + 2)
  expect(shown['name 0']).toBe(3)
  expect(shown['name 98']).toBe(2)
})

test('letters that are escaped in the JSON are the letters', () => {
  const visit = makeEvent({ utm: SPRING })
  const escaped = ['\\u0075tm_', 'u\\u0074m_', '\\u002575tm_'].map((name, i) => ({
    ...makeEvent({ did: `d-${i}` }),
    payload: visit.payload.replaceAll('utm_', name),
  }))
  expect(figuresOf(escaped).visitors).toBe(3)
})

test('a payload that is not JSON is an event without an address', () => {
  const figures = figuresOf([
    makeEvent({ utm: SPRING }),
    { ...makeEvent({ at: MONDAY + 1, event: 'odd' }), payload: 'null' },
    { ...makeEvent({ at: MONDAY + 2, event: 'odd' }), payload: 'no JSON' },
  ])
  expect(figures.events).toEqual({ odd: 2, view_page: 1 })
})

test('values that join to the same text are different', () => {
  const [one, other] = ['a b|c', 'a|b c'].map((text) => {
    const [utm_campaign = '', utm_medium = ''] = text.split('|')
    return { utm_campaign, utm_medium, utm_source: 'x' }
  })
  expect(figuresOf([makeEvent({ utm: one as Utm })], other).visitors).toBe(0)
  expect(figuresOf([makeEvent({ utm: one as Utm })], one).visitors).toBe(1)
})

test('of a device with more events than a person has, the first ones since its visit count', () => {
  const later = (n: number): Given => ({ at: MONDAY + n, event: `event ${n}` })
  const program = [{ utm: SPRING, event: 'visit' }, later(1), later(2), later(3)].map(makeEvent)
  const person = [{ utm: SPRING, event: 'visit' }, later(4)].map((given) =>
    makeEvent({ ...given, did: 'd-2' }),
  )
  const reports = openReports([...program.reverse(), ...person], { maxDeviceTouches: 3 })
  expect(reports.read(SPRING)).toMatchObject({
    visitors: 2,
    events: { visit: 2, 'event 1': 1, 'event 2': 1, 'event 4': 1 },
  })
  expect(reports.read(SPRING).events).not.toHaveProperty('event 3')
  reports.close()
})

test('devices of many blocks are added up', () => {
  const visits = Array.from({ length: 2_500 }, (_, i) =>
    makeEvent({ utm: SPRING, did: `d-${i}`, at: MONDAY + (i % 3) * DAY_MS }),
  )
  const reports = openReports(visits)
  expect(reports.read(SPRING)).toEqual(naive(visits, 'demo', SPRING))
  const more = [makeEvent({ did: 'd-2000', at: MONDAY + 2 * DAY_MS, operation: 'setEmail' })]
  reports.append(more)
  expect(reports.read(SPRING)).toEqual(naive([...visits, ...more], 'demo', SPRING))
  reports.close()
})
