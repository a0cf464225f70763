import { randomUUID } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { makeCampaignRow } from '../../test/campaignRow.ts'
import { makeFolder } from '../../test/gateway.ts'
import type { ReportFigures } from '../campaigns/report.ts'
import type { Utm } from '../campaigns/utm.ts'
import type { LogEvent } from '../collect/eventLog.ts'
import { toCells } from './cells.ts'
import { hashOfUtm } from './reportNumbers.ts'
import { openReportStore } from './reportStore.ts'
import { openStore } from './store.ts'

/** Reports over a log whose old events are removed: their figures stay, and no device of theirs does. */
const folder = makeFolder()
let folders = 0
afterAll(() => rmSync(folder, { recursive: true }))

const DAY_MS = 86_400_000
const MONDAY = Date.UTC(2026, 10, 2)
const utmOf = (campaign: string): Utm => ({
  utm_campaign: campaign,
  utm_medium: 'email',
  utm_source: 'news',
})
const SPRING = utmOf('spring')
const AUTUMN = utmOf('autumn')
/** No campaign has these values. */
const OTHER = utmOf('other')

type Given = {
  readonly did?: string
  /** When it happens and arrives, days after Monday. */
  readonly day: number
  readonly utm?: Utm | undefined
  readonly operation?: string
  readonly event?: string
  readonly customer?: string
}

function makeEvent({
  did = 'd-1',
  day,
  utm,
  operation,
  event,
  customer = 'demo',
}: Given): LogEvent {
  const at = MONDAY + Math.round(day * DAY_MS)
  const query = utm ? `?${new URLSearchParams(utm)}` : ''
  return {
    customer,
    id: randomUUID(),
    at,
    receivedAt: at,
    operation: operation ?? 'viewHomepage',
    event: event ?? 'view_page',
    did,
    bot: false,
    version: null,
    payload: JSON.stringify({ url: `https://shop.test/${query}` }),
  }
}

/** A log with campaigns, and its reports. `sweep` is what a gateway does once a day. */
function open() {
  const own = join(folder, String(++folders))
  mkdirSync(own)
  const paths = { eventsFile: join(own, 'events.db'), reportsFile: join(own, 'reports.db') }
  const store = openStore(paths.eventsFile)
  for (const customer of ['demo', 'another'])
    for (const tracking of [SPRING, AUTUMN])
      store.createCampaign(makeCampaignRow(customer, tracking))
  let reports = openReportStore(paths)

  const follow = () => {
    while (!reports.follow(1_000).isDone);
  }
  function close(customer: string, until: number): boolean {
    follow()
    const plan = reports.planClosing(customer, 'UTC')
    if (plan.since >= until) return false
    const figures = plan.blocks.map((block) => ({
      utm: hashOfUtm(customer, block.utm, block.isBot),
      part: reports.closeBlock(plan, block, until),
    }))
    return store.closeFigures({ customer, since: plan.since, until, figures })
  }
  function remove(customer: string, before: number, now: number): void {
    const { upTo } = store.findExpired(customer, before, now)
    if (upTo !== undefined) while (!store.removeExpired(customer, upTo).isDone);
  }
  const forget = () => {
    while (reports.forgetClosed() || reports.forgetSwept());
  }
  return {
    own,
    store,
    append: (given: readonly Given[]) => store.append(toCells(given.map(makeEvent))),
    close,
    forget,
    remove,
    sweep(customer: string, until: number): void {
      close(customer, until)
      remove(customer, until, Number.MAX_SAFE_INTEGER)
      forget()
    },
    read(utm: Utm, customer = 'demo'): ReportFigures {
      follow()
      for (;;) {
        const figures = reports.read(customer, utm, reports.end(customer))
        if (figures) return figures
      }
    },
    /** Forgets everything of devices that is in the log and in the reports. */
    forgetDevices(customer: string, dids: readonly string[]): number {
      const events = store
        .read({ customer, max: 1_000 })
        .filter(({ did }) => dids.includes(did ?? ''))
        .map(({ seq, did, at, id }) => ({
          seq,
          did,
          at,
          id: Buffer.from(id.replaceAll('-', ''), 'hex'),
        }))
      const count = reports.forgetEvents(customer, events)
      reports.forgetDevices(customer, dids)
      return count
    },
    /** Makes the reports again from the log. */
    rebuild(): void {
      reports.close()
      for (const end of ['', '-wal', '-shm']) rmSync(paths.reportsFile + end, { force: true })
      reports = openReportStore(paths)
    },
    reopen(): void {
      reports.close()
      reports = openReportStore(paths)
    },
    clear(): void {
      expect(reports.clearWal() && store.clearWal()).toBe(true)
    },
    end(): void {
      reports.close()
      store.close()
    },
  }
}

test('the report of a campaign is the same after its events are removed, and after a rebuild', () => {
  const shop = open()
  shop.append([
    { day: 0.5, utm: SPRING },
    { day: 0.6, operation: 'viewProduct', event: 'view_product' },
    { day: 3, operation: 'addToCart', event: 'add_to_cart' },
    { day: 3.1, did: 'd-2', utm: SPRING, operation: 'setEmail', event: 'set_email' },
    { day: 4, did: 'd-3' },
  ])
  const before = shop.read(SPRING)
  expect(before).toMatchObject({ visitors: 2, identified: 1, funnel: { add_to_cart: 1 } })
  shop.sweep('demo', MONDAY + 30 * DAY_MS)
  expect(shop.store.read({ max: 9 })).toEqual([])
  expect(shop.read(SPRING)).toEqual(before)
  shop.rebuild()
  expect(shop.read(SPRING)).toEqual(before)
  // Later events of the same device are those of a new visitor.
  shop.append([{ day: 40, utm: SPRING }])
  expect(shop.read(SPRING)).toMatchObject({ visitors: 3, events: { view_page: 2 } })
  shop.end()
})

test('no device stays, neither as text nor as a number', () => {
  const shop = open()
  shop.append(
    Array.from({ length: 500 }, (_, i) => ({ day: i / 100, did: `device-${i}`, utm: SPRING })),
  )
  shop.sweep('demo', MONDAY + 30 * DAY_MS)
  shop.append([{ day: 31, did: 'device-new' }])
  shop.read(SPRING)
  shop.clear()
  for (const name of readdirSync(shop.own)) {
    const bytes = readFileSync(join(shop.own, name), 'latin1')
    expect([name, bytes.match(/device-\w+/g) ?? []]).toEqual([
      name,
      name === 'events.db' ? ['device-new'] : [],
    ])
  }
  shop.end()
})

test('a visitor who comes back before all of it is removed is counted once', () => {
  const shop = open()
  shop.append([
    { day: 0.5, utm: SPRING },
    { day: 9, utm: SPRING, operation: 'setEmail', event: 'set_email' },
    { day: 20, utm: SPRING },
  ])
  const before = shop.read(SPRING)
  expect(before).toMatchObject({ visitors: 1, identified: 1 })
  for (const day of [1, 2, 9, 10, 20, 21, 22, 40]) {
    shop.sweep('demo', MONDAY + day * DAY_MS)
    expect([day, shop.read(SPRING)]).toEqual([day, before])
  }
  shop.end()
})

test('an event counts for a visit that is removed, for seven days', () => {
  const shop = open()
  shop.append([{ day: 0.5, utm: SPRING }])
  shop.sweep('demo', MONDAY + DAY_MS)
  shop.append([{ day: 2, event: 'later' }])
  shop.sweep('demo', MONDAY + 5 * DAY_MS)
  shop.append([
    { day: 7.5, event: 'last' },
    { day: 7.6, event: 'too late' },
  ])
  expect(shop.read(SPRING).events).toEqual({ view_page: 1, later: 1, last: 1 })
  expect(shop.read(SPRING).visitors).toBe(1)
  shop.end()
})

test('an event that arrives after its figures were closed is not counted', () => {
  const shop = open()
  shop.append([{ day: 3, utm: SPRING }])
  shop.sweep('demo', MONDAY + 10 * DAY_MS)
  const before = shop.read(SPRING)
  shop.append([{ day: 3.5, did: 'late', utm: SPRING }])
  expect(shop.read(SPRING)).toEqual(before)
  shop.rebuild()
  expect(shop.read(SPRING)).toEqual(before)
  shop.end()
})

test('figures that another gateway has closed are not added twice', () => {
  const shop = open()
  shop.append([{ day: 0.5, utm: SPRING }])
  const before = shop.read(SPRING)
  const closing = {
    customer: 'demo',
    since: 0,
    until: MONDAY + DAY_MS,
    figures: [],
  }
  expect(shop.close('demo', MONDAY + DAY_MS)).toBe(true)
  expect(shop.store.closeFigures(closing)).toBe(false)
  expect(shop.close('demo', MONDAY + DAY_MS)).toBe(false)
  expect(shop.read(SPRING)).toEqual(before)
  shop.end()
})

test('a campaign without visitors is not visited by every closing', () => {
  const shop = open()
  shop.append([{ day: 0.5, utm: SPRING }])
  const before = shop.read(SPRING)
  for (const day of [1, 20, 21]) shop.sweep('demo', MONDAY + day * DAY_MS)
  const database = new Database(join(shop.own, 'reports.db'))
  for (const table of ['parts', 'carried', 'touches', 'visits', 'devices', 'seen'])
    expect([table, database.prepare(`SELECT * FROM ${table}`).all()]).toEqual([table, []])
  database.close()
  expect(shop.read(SPRING)).toEqual(before)
  shop.end()
})

/** Positions of the events whose device is known by a short hash. */
function seenIn(own: string): number[] {
  const database = new Database(join(own, 'reports.db'))
  const rows = database.prepare('SELECT first, entries FROM seen ORDER BY first').all() as {
    first: number
    entries: Buffer
  }[]
  database.close()
  return rows.flatMap(({ first, entries }) =>
    Array.from({ length: entries.length / 8 }, (_, i) => first + entries.readUInt32LE(i * 8)),
  )
}

test('the short hashes of devices are deleted with their events, by age and by erasure', () => {
  const shop = open()
  shop.append(
    Array.from({ length: 3_000 }, (_, i) => ({
      day: i / 100,
      did: `device-${i}`,
      customer: i % 2 ? 'demo' : 'another',
    })),
  )
  shop.read(SPRING)
  expect(seenIn(shop.own)).toHaveLength(3_000)
  shop.sweep('demo', MONDAY + 10 * DAY_MS)
  const odd = (seq: number) => seq % 2 === 1
  expect(seenIn(shop.own).filter(odd)).toHaveLength(1_500)
  expect(seenIn(shop.own).filter((seq) => !odd(seq))[0]).toBe(1_002)
  expect(shop.forgetDevices('another', ['device-0', 'device-2', 'device-3'])).toBe(2)
  expect(seenIn(shop.own).filter(odd)[0]).toBe(5)
  shop.end()
})

test('a file of the version that had device ids is overwritten', () => {
  const own = join(folder, String(++folders))
  mkdirSync(own)
  const paths = { eventsFile: join(own, 'events.db'), reportsFile: join(own, 'reports.db') }
  openStore(paths.eventsFile).close()
  const old = new Database(paths.reportsFile)
  old.exec(
    'PRAGMA journal_mode = WAL; CREATE TABLE position (seq); CREATE TABLE devices (did TEXT)',
  )
  const insert = old.prepare('INSERT INTO devices VALUES (?)')
  for (let i = 0; i < 500; i++) insert.run(`device-${i}`)
  // Pages that were freed without being overwritten.
  old.exec(
    'CREATE TABLE more AS SELECT * FROM devices; DROP TABLE devices; PRAGMA user_version = 5',
  )
  old.close()
  expect(readFileSync(paths.reportsFile, 'latin1')).toContain('device-499')
  const reports = openReportStore(paths)
  expect(reports.clearWal()).toBe(true)
  for (const name of readdirSync(own))
    expect(readFileSync(join(own, name), 'latin1')).not.toContain('device-')
  reports.close()
})

test('a device that is forgotten is no longer counted, and its later events are those of a new one', () => {
  const shop = open()
  shop.append([
    { day: 0.1, did: 'd-1', utm: SPRING },
    { day: 0.2, did: 'd-1', operation: 'setEmail', event: 'set_email' },
    { day: 0.3, did: 'd-2', utm: SPRING },
    { day: 0.3, did: 'd-1', utm: SPRING, customer: 'another' },
  ])
  expect(shop.read(SPRING)).toMatchObject({ visitors: 2, identified: 1 })
  expect(shop.forgetDevices('demo', ['d-1', 'unknown'])).toBe(2)
  expect(shop.read(SPRING)).toMatchObject({ visitors: 1, identified: 0, events: { view_page: 1 } })
  expect(shop.read(SPRING, 'another').visitors).toBe(1)
  shop.append([{ day: 0.4, did: 'd-1', event: 'again' }])
  expect(shop.read(SPRING).visitors).toBe(1)
  shop.append([{ day: 0.5, did: 'd-1', utm: SPRING, event: 'again' }])
  expect(shop.read(SPRING)).toMatchObject({ visitors: 2, events: { view_page: 1, again: 1 } })
  shop.end()
})

test('an event counts for a visit that was removed days before it, also after a removal between the two', () => {
  const shop = open()
  shop.append([{ day: 0, utm: AUTUMN }])
  shop.sweep('demo', MONDAY + DAY_MS)
  shop.append([{ day: 4, event: 'later' }])
  shop.sweep('demo', MONDAY + 2 * DAY_MS)
  shop.sweep('demo', MONDAY + 3 * DAY_MS)
  expect(shop.read(AUTUMN).events).toEqual({ view_page: 1, later: 1 })
  shop.end()
})

const anyEvent = fc.record({
  customer: fc.constantFrom('demo', 'demo', 'another'),
  day: fc.oneof(
    // Often exactly seven days apart, and at midnight.
    fc.integer({ min: 0, max: 8 }).map((n) => n * 3.5),
    fc.integer({ min: 0, max: 24 * 28 }).map((hours) => hours / 24),
  ),
  operation: fc.constantFrom(
    ...['viewHomepage', 'viewProduct', 'addToCart', 'initiateCheckout', 'setEmail', 'sendCustom'],
  ),
  event: fc.constantFrom('view_page', 'de_add_to_cart', '__proto__'),
  did: fc.constantFrom('d-1', 'd-1', 'd-2', 'd-3'),
  utm: fc.constantFrom(undefined, undefined, undefined, SPRING, SPRING, AUTUMN, OTHER),
})

test('reports are the same before and after every removal, and count what arrives later', () => {
  fc.assert(
    fc.property(
      fc.array(anyEvent, { maxLength: 40, size: 'max' }),
      fc.array(
        fc.record({
          day: fc.integer({ min: 1, max: 28 }),
          retention: fc.integer({ min: 0, max: 10 }),
          crash: fc.constantFrom('no', 'no', 'after closing', 'before forgetting'),
        }),
        { maxLength: 5 },
      ),
      (given, sweeps) => {
        const shop = open()
        const events = given.map(makeEvent).sort((a, b) => a.at - b.at)
        let stored = 0
        const reportsOf = () =>
          ['demo', 'another'].flatMap((customer) =>
            [SPRING, AUTUMN].map((utm) => shop.read(utm, customer)),
          )
        for (const { day, retention, crash } of [...sweeps].sort((a, b) => a.day - b.day)) {
          const now = MONDAY + day * DAY_MS
          const arrived = events.filter((event) => event.at < now).length
          shop.store.append(toCells(events.slice(stored, arrived)))
          stored = Math.max(stored, arrived)
          const before = reportsOf()
          const until = now - retention * DAY_MS
          if (crash === 'no') shop.sweep('demo', until)
          else {
            shop.close('demo', until)
            if (crash === 'before forgetting') shop.remove('demo', until, now)
            shop.reopen()
          }
          expect(reportsOf()).toEqual(before)
        }
        shop.store.append(toCells(events.slice(stored)))
        const whole = open()
        whole.store.append(toCells(events))
        for (const customer of ['demo', 'another'])
          for (const utm of [SPRING, AUTUMN]) {
            const [some, all] = [shop.read(utm, customer), whole.read(utm, customer)]
            expect([some.events, some.days]).toEqual([all.events, all.days])
            expect(some.visitors).toBeGreaterThanOrEqual(all.visitors)
          }
        whole.end()
        shop.end()
      },
    ),
    { numRuns: 30 },
  )
}, 120_000)
