import { randomUUID } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { makeFolder } from '../../test/gateway.ts'
import type { ReportFigures } from '../campaigns/report.ts'
import type { LogEvent } from '../collect/eventLog.ts'
import { type Person, readPerson } from '../people/person.ts'
import { toCells } from './cells.ts'
import type { PersonFiles, Steps } from './derivedFiles.ts'
import { openForwardStore } from './forwardStore.ts'
import { openPersonStore, type PersonStore, readProofs } from './personStore.ts'
import { openReportStore } from './reportStore.ts'
import { openStore } from './store.ts'

/** What is kept of a person, in a real log. */
const root = makeFolder()
let folder: string
let files: Required<PersonFiles>
let count = 0

beforeEach(() => {
  count++
  folder = join(root, String(count))
  mkdirSync(folder)
  files = {
    eventsFile: join(folder, 'events.db'),
    reportsFile: join(folder, 'reports.db'),
    forwardFile: join(folder, 'forward.db'),
  }
})
afterAll(() => rmSync(root, { recursive: true }))

const NOW = Date.UTC(2026, 10, 28, 12)

type Given = Partial<Omit<LogEvent, 'payload'>> & { readonly payload?: object }

/** An event of a page. Its payload has its did and name, as the gateway stores it. */
function event({ payload = {}, ...given }: Given): LogEvent {
  const whole = {
    customer: 'shop',
    id: randomUUID(),
    at: NOW,
    receivedAt: NOW + 1_000,
    operation: 'viewHomepage',
    event: 'view_page',
    did: 'device-a',
    bot: false,
    version: null,
    ...given,
  }
  const { did, event: name } = whole
  return {
    ...whole,
    payload: JSON.stringify({ ...(did !== null && { did }), event: name, ...payload }),
  }
}

const says = (did: string, email_address: string, given: Given = {}) =>
  event({ did, operation: 'setEmail', event: 'set_email', payload: { email_address }, ...given })

function store(...events: readonly LogEvent[]): void {
  const log = openStore(files.eventsFile)
  log.append(toCells(events))
  log.close()
}

function finish<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}

type Asked = { readonly email?: string; readonly did?: string }

function personOf(asked: Asked): Person {
  const read = readPerson(asked)
  if (!read.ok) throw new Error(read.message)
  return read.person
}

function using<Result>(
  asked: Asked,
  use: (store: PersonStore) => Result,
  customer = 'shop',
): Result | undefined {
  const store = openPersonStore(files, customer, personOf(asked), () => NOW)
  try {
    return finish(store.search()) ? use(store) : undefined
  } finally {
    store.close()
  }
}

const exportOf = (asked: Asked, customer = 'shop') =>
  using(asked, ({ json }) => JSON.parse([...json()].join('')), customer)
const namesIn = (exported: { events: { event: string }[] } | undefined) =>
  exported?.events.map(({ event }) => event)
const keptOf = (asked: Asked) => using(asked, (store) => finish(store.describe()))

test('an export has every event of every device that gave the address, and other events with it', () => {
  store(
    event({ did: 'device-a', event: 'before' }),
    event({ did: 'device-b', event: 'other' }),
    says('device-a', 'anna@example.org', { event: 'first' }),
    says('device-c', 'ANNA@Example.org', { event: 'second', operation: 'sendCustom' }),
    event({ did: 'device-c', event: 'after' }),
    event({
      did: null,
      operation: 'sendCustomApi',
      event: 'server',
      payload: { email: 'Anna@example.org' },
    }),
    event({
      did: null,
      operation: 'sendCustomApi',
      event: 'of-bert',
      payload: { email: 'bert@example.org' },
    }),
    event({
      did: 'device-b',
      event: 'in-url',
      payload: { url: 'https://shop.test/?e=anna%40example.org' },
    }),
    event({ did: 'device-a', event: 'elsewhere', customer: 'other' }),
    says('device-d', 'anna@example.org', { event: 'elsewhere', customer: 'other' }),
  )
  const exported = exportOf({ email: ' anna@EXAMPLE.org ' })
  expect(namesIn(exported)).toEqual(['before', 'first', 'second', 'after', 'server', 'in-url'])
  expect(exported.devices).toEqual(['device-a', 'device-c'])
  expect(namesIn(exportOf({ email: 'anna@example.org' }, 'other'))).toEqual(['elsewhere'])
})

test('an event is exported whole, with its times in UTC', () => {
  const id = randomUUID()
  const payload = {
    url: 'https://shop.test/',
    remote_addr: '203.0.113.7',
    http_user_agent: 'Agent',
  }
  store(event({ id, bot: true, version: null, payload }))
  expect(exportOf({ did: 'device-a' })).toEqual({
    customer: 'shop',
    person: { did: 'device-a' },
    exported: '2026-11-28T12:00:00.000Z',
    devices: ['device-a'],
    events: [
      {
        at: '2026-11-28T12:00:00.000Z',
        receivedAt: '2026-11-28T12:00:01.000Z',
        id,
        operation: 'viewHomepage',
        event: 'view_page',
        did: 'device-a',
        bot: true,
        version: null,
        payload: { did: 'device-a', event: 'view_page', ...payload },
      },
    ],
  })
})

test('a device id finds the events of this device only, compared exactly', () => {
  store(
    says('device-a', 'anna@example.org', { event: 'a' }),
    says('device-b', 'anna@example.org', { event: 'b' }),
  )
  expect(namesIn(exportOf({ did: 'device-a' }))).toEqual(['a'])
  expect(exportOf({ did: 'DEVICE-A' })).toBeUndefined()
})

test('nothing is found of an unknown person, of another customer, and of an empty log', () => {
  store(says('device-a', 'anna@example.org'))
  expect(exportOf({ email: 'joanna@example.org' })).toBeUndefined()
  expect(exportOf({ did: 'device' })).toBeUndefined()
  expect(exportOf({ email: 'anna@example.org' }, 'other')).toBeUndefined()
  expect(exportOf({ did: 'device-a' }, 'other')).toBeUndefined()
})

test('a device that gave two addresses belongs to both people, and is reported as shared', () => {
  store(
    says('shared', 'anna@example.org', { event: 'anna' }),
    says('shared', 'bert@example.org', { event: 'bert' }),
    says('own', 'Anna@example.org', { event: 'again' }),
  )
  expect(namesIn(exportOf({ email: 'anna@example.org' }))).toEqual(['anna', 'bert', 'again'])
  expect(namesIn(exportOf({ email: 'bert@example.org' }))).toEqual(['anna', 'bert'])
  expect(keptOf({ email: 'anna@example.org' })).toMatchObject({ devices: 2, shared: 1 })
  expect(keptOf({ did: 'shared' })).toMatchObject({ devices: 1, shared: 1 })
  expect(keptOf({ did: 'own' })).toMatchObject({ devices: 1, shared: 0 })
})

test('the description counts events by operation, and names the first and last moment and the devices', () => {
  store(
    event({ did: 'device-a', at: NOW - 5_000 }),
    event({ did: 'device-a', at: NOW + 5_000 }),
    says('device-a', 'anna@example.org'),
  )
  expect(keptOf({ email: 'anna@example.org' })).toEqual({
    events: 3,
    operations: { viewHomepage: 2, setEmail: 1 },
    first: NOW - 5_000,
    last: NOW + 5_000,
    devices: 1,
    dids: ['device-a'],
    shared: 0,
  })
})

test('an address that only servers reported has no device', () => {
  store(event({ did: null, operation: 'sendCustomApi', payload: { email: 'anna@example.org' } }))
  expect(keptOf({ email: 'anna@example.org' })).toMatchObject({ events: 1, devices: 0, dids: [] })
})

test('an event that arrives after the search is not part of it', () => {
  store(says('device-a', 'anna@example.org', { event: 'early' }))
  const names = using({ email: 'anna@example.org' }, ({ json }) => {
    store(event({ did: 'device-a', event: 'late' }))
    return namesIn(JSON.parse([...json()].join('')))
  })
  expect(names).toEqual(['early'])
})

test('a large export is made in pieces, over many events of others', () => {
  const long = 'x'.repeat(2_000)
  const events = Array.from({ length: 12_000 }, (_, i) =>
    i % 40 === 0
      ? event({ did: 'device-a', event: `e${i}`, payload: { source: long } })
      : event({ did: `other-${i}` }),
  )
  store(says('device-a', 'anna@example.org'), ...events)
  const pieces = using({ email: 'anna@example.org' }, ({ json }) => [...json()]) ?? []
  expect(JSON.parse(pieces.join('')).events).toHaveLength(301)
  expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThan(70_000)
  expect(keptOf({ email: 'anna@example.org' })?.events).toBe(301)
})

test('an export has all devices, and the description at most a hundred', () => {
  const dids = Array.from({ length: 1_234 }, (_, i) => `device-${String(i).padStart(4, '0')}`)
  store(...dids.map((did) => says(did, 'test@shop.example')))
  expect(exportOf({ email: 'test@shop.example' }).devices).toEqual(dids)
  const found = keptOf({ email: 'test@shop.example' })
  expect(found?.devices).toBe(1_234)
  expect(found?.dids).toEqual(dids.slice(0, 100))
})

test('what a terminal would execute is escaped, and has the same value', () => {
  const text = 'a\u001b[2J\u202eb\u0085\u2028é漢😀'
  store(event({ did: text, event: text, payload: { source: text } }))
  const written = using({ did: text }, ({ json }) => [...json()].join('')) ?? ''
  expect(written.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}]/u)
  expect(JSON.parse(written)).toMatchObject({
    person: { did: text },
    devices: [text],
    events: [{ event: text, payload: { source: text } }],
  })
})

/** Whether any file of the folder contains the text, in its bytes. */
const filesWith = (text: string) =>
  readdirSync(folder).filter((name) => readFileSync(join(folder, name)).includes(text))

const erase = (asked: Asked) => using(asked, (store) => finish(store.erase()))

test('nothing of an erased person is in the bytes of any file, and everything else stays', () => {
  const mark = `zz${count}`
  store(
    ...Array.from({ length: 700 }, (_, i) => [
      event({
        did: `${mark}-device`,
        event: `e${i}`,
        payload: { source: `${mark}-${'x'.repeat(i * 20)}` },
      }),
      event({ did: `other-${i}`, event: `stays-${i}` }),
    ]).flat(),
    says(`${mark}-device`, `${mark}@example.org`),
    event({ did: null, operation: 'sendCustomApi', payload: { email: `${mark}@Example.org` } }),
    event({
      did: 'other',
      event: 'in-url',
      payload: { url: `https://a.test/${mark}@example.org` },
    }),
  )
  expect(filesWith(mark).length).toBeGreaterThan(0)
  const proof = erase({ email: `${mark}@example.org` })
  expect(proof).toMatchObject({ customer: 'shop', begun: NOW, ended: NOW, events: 703, devices: 1 })
  expect(filesWith(mark)).toEqual([])
  expect(filesWith('example.org')).toEqual([])
  for (const did of ['other-0', 'other-699']) expect(exportOf({ did }).events).toHaveLength(1)
  expect(readProofs(files.eventsFile, 'shop')).toEqual([proof])
  expect(readProofs(files.eventsFile, 'other')).toEqual([])
})

/** A record of a shop's server. */
const record = (operation: string, payload: object) =>
  event({ did: null, operation, event: operation, payload })
const order = (number: string, email_address: string, name: string) =>
  record('saveOrder', {
    ...{ number, email_address, phone: `+40-${name}`, firstname: name, lastname: name },
    ...{ city: 'Cluj', address: `Street of ${name} 7`, total_value: '1.00', products: [] },
  })
const status = (order_number: string, order_status: string) =>
  record('updateOrderStatus', { order_number, order_status })

test('a person has orders, with their states and former addresses, and subscriptions', () => {
  const [anna, bert] = ['anna@example.org', 'bert@example.org']
  store(
    status('A-1', 'before'),
    // With a mistake in the address, and mended.
    order('A-1', 'ana@example.org', 'anna'),
    order('A-1', 'Anna@Example.org', 'anna'),
    status('A-1', 'sent'),
    order('B-1', bert, 'bert'),
    status('B-1', 'sent'),
    // Its number is the total of another one, and an address is in another text.
    order('1.00', bert, anna),
    record('addSubscriber', { email: anna, name: 'anna' }),
    record('removeSubscriber', { email: 'ANNA@example.org' }),
    record('addSubscriber', { email: bert, attributes: { friend: 'carla@example.org' } }),
    says('device-a', anna),
  )
  expect(keptOf({ email: anna })).toMatchObject({
    operations: {
      ...{ saveOrder: 3, updateOrderStatus: 2, addSubscriber: 1, removeSubscriber: 1, setEmail: 1 },
    },
    devices: 1,
  })
  const numbers = (email: string): string[] =>
    exportOf({ email })?.events.flatMap(
      ({ payload }: { payload: { number?: string; order_number?: string } }) =>
        payload.number ?? payload.order_number ?? [],
    )
  expect(numbers(anna)).toEqual(['A-1', 'A-1', 'A-1', 'A-1', '1.00'])
  expect(numbers(bert)).toEqual(['B-1', 'B-1', '1.00'])
  expect(keptOf({ email: 'carla@example.org' })).toMatchObject({ operations: { addSubscriber: 1 } })
})

test('nothing of the orders and subscriptions of an erased person is in the bytes of any file', () => {
  const mark = `ww${count}`
  const email = `${mark}@example.org`
  store(
    ...Array.from({ length: 300 }, (_, i) => [
      status(`${mark}-${i}`, `state-${i}`),
      order(`${mark}-${i}`, email, mark),
      order(`other-${i}`, `other-${i}@example.com`, 'other'),
      status(`other-${i}`, 'sent'),
      record('removeSubscriber', { email: `other-${i}@example.com` }),
    ]).flat(),
    record('addSubscriber', { email, name: mark, phone: `+40-${mark}` }),
    record('removeSubscriber', { email: email.toUpperCase() }),
  )
  let removed = 0
  using({ email }, (interrupted) => {
    const steps = interrupted.erase()
    while (removed === 0) {
      steps.next()
      removed = readProofs(files.eventsFile, 'shop')[0]?.events ?? 0
    }
  })
  // The states go first: without the orders they could not be found.
  expect(removed).toBeLessThan(300)
  expect(keptOf({ email })?.operations.saveOrder).toBe(300)
  expect(erase({ email })).toMatchObject({ events: 602 - removed })
  for (const text of [mark, mark.toUpperCase()]) expect(filesWith(text)).toEqual([])
  const log = openStore(files.eventsFile)
  for (const i of [0, 299]) {
    expect(log.findOrder('shop', `${mark}-${i}`)).toBeUndefined()
    expect(log.findOrder('shop', `other-${i}`)).toMatchObject({ versions: 1, status: 'sent' })
  }
  expect(log.findSubscriber('shop', email)).toBeUndefined()
  const range = { from: 0, to: NOW * 2 }
  const { addresses, next } = log.listUnsubscribed('shop', range)
  expect([addresses.length, next]).toEqual([300, undefined])
  log.close()
})

test('an erasure that was interrupted is marked, and one that is repeated finishes it', () => {
  const mark = `yy${count}`
  store(
    says(`${mark}-a`, `${mark}@example.org`),
    ...Array.from({ length: 500 }, () => event({ did: `${mark}-a` })),
    ...Array.from({ length: 500 }, () => event({ did: `${mark}-b` })),
    says(`${mark}-b`, `${mark}@example.org`),
  )
  const asked = { email: `${mark}@example.org` }
  let removed = 0
  using(asked, (interrupted) => {
    const steps = interrupted.erase()
    // How many events a step removes depends on the speed of the machine.
    while (removed === 0) {
      steps.next()
      removed = readProofs(files.eventsFile, 'shop')[0]?.events ?? 0
    }
  })
  const left = 1_002 - removed
  expect(keptOf(asked)).toMatchObject({ events: left, devices: 2 })
  expect(readProofs(files.eventsFile, 'shop')).toMatchObject([
    { proof: 1, ended: null, events: removed },
  ])
  expect(erase(asked)).toMatchObject({ proof: 2, ended: NOW, events: left, devices: 2 })
  expect(filesWith(mark)).toEqual([])
  expect(readProofs(files.eventsFile, 'shop').map(({ ended }) => ended)).toEqual([NOW, null])
})

test('the dead letters of an erased person are gone, from every byte of their file', () => {
  const mark = `zz${count}`
  // Of every other event, so that pages have letters of both, and rows were moved between pages.
  const dids = Array.from({ length: 600 }, (_, i) => (i % 2 ? `${mark}-a` : 'other'))
  store(...dids.map((did) => event({ did })))
  const letters = openForwardStore(files.forwardFile)
  letters.add(
    {
      ...{ id: 'd', customer: 'shop', kind: 'webhook', name: '', isPaused: false, operations: [] },
      ...{ leaveOut: [], takesBots: false, takesCookieless: false, settings: {} },
    },
    { seq: 0, event: null, receivedAt: null },
    NOW,
  )
  letters.lease('me', ['d'], NOW)
  for (const order of [1, -1])
    letters.settle('d', 'me', {
      ...{ delivered: 0, failed: 0, lost: 0, settledLetters: [] },
      refused: dids
        .map((did, i) => ({
          ...{ seq: i + 1, eventId: randomUUID(), operation: 'viewHomepage', attempts: 1 },
          ...{ reason: `Refused ${did}`.repeat(order === 1 ? 1 : 5), firstAt: NOW, lastAt: NOW },
        }))
        .sort((a, b) => order * ((a.seq % 97) - (b.seq % 97))),
    })
  letters.close()
  expect(filesWith(mark)).toContain('forward.db')
  // A gateway has it open.
  const open = openForwardStore(files.forwardFile)
  expect(erase({ did: `${mark}-a` })).toMatchObject({ events: 300 })
  expect(filesWith(mark)).toEqual([])
  expect(open.letters.count('d')).toBe(300)
  open.close()
})

test('what arrives during an erasure stays', () => {
  store(says('device-a', 'anna@example.org'), event({ event: 'early' }))
  using({ email: 'anna@example.org' }, (store_) => {
    store(event({ event: 'late' }), says('device-a', 'anna@example.org'))
    expect(finish(store_.erase())).toMatchObject({ events: 2 })
  })
  expect(namesIn(exportOf({ email: 'anna@example.org' }))).toEqual(['late', 'set_email'])
})

test('a removed event that is sent again is not stored again', () => {
  const early = says('device-a', 'anna@example.org')
  store(early)
  erase({ email: 'anna@example.org' })
  store(early)
  expect(keptOf({ email: 'anna@example.org' })).toBeUndefined()
})

const SPRING = { utm_campaign: 'spring', utm_medium: 'email', utm_source: 'news' }
const VISIT = { url: `https://shop.test/?${new URLSearchParams(SPRING)}` }

/** The report of the campaign, by a reader that stays open like a gateway's. */
function openReport() {
  const reports = openReportStore(files)
  return {
    follow() {
      while (!reports.follow(1_000, 'shop').isDone);
    },
    read(): ReportFigures {
      this.follow()
      for (;;) {
        const figures = reports.read('shop', SPRING, reports.end('shop'))
        if (figures) return figures
      }
    },
    close: () => reports.close(),
  }
}

test('reports no longer count an erased person, and nothing of it is in their file', () => {
  const mark = `xx${count}`
  store(
    ...Array.from({ length: 300 }, (_, i) => event({ did: `other-${i}`, payload: VISIT })),
    event({ did: `${mark}-a`, payload: VISIT, at: NOW - 1_000 }),
    event({ did: `${mark}-a`, operation: 'addToCart', event: 'add_to_cart' }),
    says(`${mark}-a`, `${mark}@example.org`),
    event({ did: `${mark}-b`, payload: VISIT }),
  )
  const report = openReport()
  expect(report.read()).toMatchObject({ visitors: 302, identified: 1, funnel: { add_to_cart: 1 } })
  expect(erase({ email: `${mark}@example.org` })).toMatchObject({ events: 3, counted: 3 })
  expect(report.read()).toMatchObject({ visitors: 301, identified: 0, funnel: { add_to_cart: 0 } })
  expect(filesWith(`${mark}-a`)).toEqual([])
  // The numbers of devices that are forgotten may be used again.
  expect(erase({ did: `${mark}-b` })).toMatchObject({ events: 1, counted: 1 })
  store(event({ did: 'new-1', payload: VISIT }), event({ did: 'new-2', payload: VISIT }))
  expect(report.read().visitors).toBe(302)
  // Later events of the same device are those of a new one.
  store(event({ did: `${mark}-a` }))
  expect(report.read().visitors).toBe(302)
  store(event({ did: `${mark}-a`, payload: VISIT }))
  expect(report.read().visitors).toBe(303)
  const before = report.read()
  report.close()
  for (const end of ['', '-wal', '-shm']) rmSync(files.reportsFile + end, { force: true })
  const rebuilt = openReport()
  expect(rebuilt.read()).toEqual(before)
  rebuilt.close()
})

test('a report that is read between the steps of an erasure is right at its end', () => {
  store(
    ...Array.from({ length: 450 }, () => event({ did: 'device-a', payload: VISIT })),
    says('device-a', 'anna@example.org'),
    event({ did: 'device-b', payload: VISIT }),
  )
  const report = openReport()
  using({ email: 'anna@example.org' }, (interrupted) => {
    const steps = interrupted.erase()
    store(event({ did: 'device-a', event: 'late', payload: VISIT }))
    for (let step = steps.next(); !step.done; step = steps.next()) report.read()
  })
  expect(report.read()).toMatchObject({ visitors: 2, events: { view_page: 1, late: 1 } })
  report.close()
})

test('a log that has no reports yet gets none by an erasure', () => {
  store(says('device-a', 'anna@example.org'))
  expect(erase({ email: 'anna@example.org' })).toMatchObject({ events: 1, counted: 0 })
  expect(readdirSync(folder).filter((name) => name.startsWith('reports'))).toEqual([])
})

test('an erasure that was interrupted before it emptied the -wal is finished by the next one', () => {
  const mark = `ww${count}`
  // The log stays open, as in a gateway, so that closing the store does not empty the -wal.
  const log = openStore(files.eventsFile)
  log.append(toCells([says(`${mark}-a`, `${mark}@example.org`)]))
  const asked = { email: `${mark}@example.org` }
  const reader = new Database(files.eventsFile, { readonly: true })
  const rows = reader.prepare('SELECT * FROM events').iterate()
  rows.next()
  using(asked, (interrupted) => {
    const steps = interrupted.erase()
    // Until it waits for the reader.
    for (let i = 0; i < 10; i++) expect(steps.next().done).toBe(false)
  })
  rows.return?.()
  reader.close()
  expect(filesWith(mark)).not.toEqual([])
  const again = openPersonStore(files, 'shop', personOf(asked), () => NOW)
  expect(finish(again.search())).toBe(false)
  finish(again.clearFiles())
  expect(filesWith(mark)).toEqual([])
  again.close()
  log.close()
})
