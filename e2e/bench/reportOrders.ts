// Orders in reports: follows a log of a million events and a hundred thousand orders that arrived in random order, some of
// them twice, and compares every figure of every campaign with a naive count. Prints the times of following and reading.
// --events 100000 --orders 10000 for a shorter run.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual, parseArgs } from 'node:util'
import { DEFAULT_VIEW, type ReportView } from '../../src/gateway/campaigns/reportView.ts'
import type { Utm } from '../../src/gateway/campaigns/utm.ts'
import type { LogEvent } from '../../src/gateway/collect/eventLog.ts'
import { toCells } from '../../src/gateway/sqlite/cells.ts'
import { openReportStore } from '../../src/gateway/sqlite/reportStore.ts'
import { openStore } from '../../src/gateway/sqlite/store.ts'
import { createNaiveReports } from '../../src/test/naiveReport.ts'
import { makeCampaign, utmOf } from '../benchEvents.ts'
import { line } from '../benchPages.ts'
import { makeFolder } from '../gateway.ts'
import { createRandom } from '../random.ts'

const { values } = parseArgs({
  options: {
    events: { type: 'string', default: '1000000' },
    orders: { type: 'string', default: '100000' },
    campaigns: { type: 'string', default: '3' },
  },
})
const EVENTS = Number(values.events)
const ORDERS = Number(values.orders)
const CAMPAIGNS = Number(values.campaigns)
/** The longest time of one call that adds up a report, ms. Other reports wait for it. */
const TARGET_MS = 50
/** Events a transaction, as in reportWorker.ts. */
const SLICE = 5_000
const APPENDED = 2_000
const PERSONS = EVENTS / 40
const DAYS = 30
const START = Date.UTC(2026, 9, 10)
const random = createRandom(11)
const views: readonly ReportView[] = [
  DEFAULT_VIEW,
  { ...DEFAULT_VIEW, timeZone: 'Europe/Bucharest', bots: true },
  { ...DEFAULT_VIEW, timeZone: 'America/New_York', currency: 'RON', refundStatuses: ['new'] },
]
const campaigns = Array.from({ length: CAMPAIGNS }, (_, n) => utmOf(n))

let ids = 0
/** Ids in an order that says nothing about the time. */
const nextId = (): string => {
  const text = random
    .below(2 ** 32)
    .toString(16)
    .padStart(8, '0')
  return `${text}-0000-4000-8000-${(ids++).toString(16).padStart(12, '0')}`
}

function makeEvent(given: Partial<Omit<LogEvent, 'payload'>>, payload: object): LogEvent {
  const at = given.at ?? START + Math.floor(random.below(DAYS * 24 * 60) * 60_000)
  return {
    ...{ customer: 'demo', id: nextId(), at, receivedAt: at, operation: 'viewHomepage' },
    ...{ event: 'view_page', did: null, bot: false, version: null },
    ...given,
    payload: JSON.stringify(payload),
  }
}

const OPERATIONS = [
  ['viewProduct', 'view_product'],
  ['addToCart', 'add_to_cart'],
  ['initiateCheckout', 'initiate_checkout'],
  ['search', 'search'],
] as const
const urlOf = (utm?: Utm): string => `https://shop.example/?${new URLSearchParams(utm ?? {})}`

/** Each fourth event is a visit, some are of campaigns that the shop does not know, and some are of bots. */
function* pageEvents(): Generator<LogEvent, void> {
  for (let i = 0; i < EVENTS; i++) {
    const person = random.below(PERSONS)
    const device = { did: `device-${person}-${random.below(2)}`, bot: random.chance(0.1) }
    const utm = random.chance(0.25) ? utmOf(random.below(CAMPAIGNS + 1)) : undefined
    if (random.chance(0.1)) {
      const email_address = emailOf(random.chance(0.02) ? random.below(PERSONS) : person)
      const names = { operation: 'setEmail', event: 'set_email' }
      yield makeEvent({ ...device, ...names }, { url: urlOf(utm), email_address })
    } else {
      const [operation, event] = utm ? ['viewHomepage', 'view_page'] : random.pick(OPERATIONS)
      yield makeEvent({ ...device, operation, event }, { url: urlOf(utm) })
    }
  }
}

const emailOf = (person: number): string =>
  random.chance(0.3) ? `Person.${person}@Shop.example` : `person.${person}@shop.example`

/** Each fifth order is saved twice, and most get a status or two. */
function* orderEvents(): Generator<LogEvent, void> {
  for (let n = 0; n < ORDERS; n++) {
    const person = random.below(PERSONS)
    for (let saves = random.chance(0.2) ? 2 : 1; saves > 0; saves--)
      yield makeEvent(
        { operation: 'saveOrder', event: 'save_order' },
        {
          ...{ number: `${n}`, email_address: emailOf(person) },
          currency: random.chance(0.9) ? 'EUR' : 'RON',
          minor: { total_value: random.below(100_000) - 1_000 },
        },
      )
    for (let left = random.below(3); left > 0; left--)
      yield makeEvent(
        { operation: 'updateOrderStatus', event: 'update_order_status' },
        {
          order_number: `${n}`,
          order_status: random.pick(['new', 'complete', ' Refunded', 'CANCELLED'] as const),
        },
      )
  }
}

function shuffle<T>(all: T[]): void {
  for (let i = all.length - 1; i > 0; i--) {
    const j = random.below(i + 1)
    const one = all[i] as T
    all[i] = all[j] as T
    all[j] = one
  }
}

const folder = makeFolder('report-orders')
const files = { eventsFile: join(folder, 'events.db'), reportsFile: join(folder, 'reports.db') }
const events = [...pageEvents(), ...orderEvents()]
for (let i = 0; i < EVENTS / 50; i++) events.push(events[random.below(events.length)] as LogEvent)
shuffle(events)
console.log(`${events.length} records, ${ORDERS} orders among them, in random order`)
const store = openStore(files.eventsFile)
for (const utm of campaigns.keys()) store.createCampaign(makeCampaign('demo', utm))
for (let i = 0; i < events.length; i += APPENDED)
  store.append(toCells(events.slice(i, i + APPENDED)))

const reports = openReportStore(files)
const spent = process.cpuUsage()
while (!reports.follow(SLICE).isDone);
const { user, system } = process.cpuUsage(spent)
console.log(line('following, CPU µs a record', ((user + system) / events.length).toFixed(1)))

/** Processor times of the calls until the report is there, ms. */
function timesOf(utm: Utm, view: ReportView): number[] {
  const times: number[] = []
  for (;;) {
    const begun = process.cpuUsage()
    const figures = reports.read('demo', utm, reports.end('demo'), view)
    const { user, system } = process.cpuUsage(begun)
    times.push((user + system) / 1_000)
    if (figures) return times
  }
}

const first = timesOf(campaigns[0] as Utm, DEFAULT_VIEW)
const again = timesOf(campaigns[0] as Utm, DEFAULT_VIEW)
const longest = (times: readonly number[]) => Math.max(...times).toFixed(1)
console.log(line('the first report, CPU ms', 'longest call', 'calls'))
console.log(line('', longest(first), first.length))
console.log(line('the same again', longest(again), again.length))
const late = Array.from({ length: 20 }, () => {
  const status = { order_number: `${random.below(ORDERS)}`, order_status: 'complete' }
  const record = makeEvent({ operation: 'updateOrderStatus' }, status)
  events.push(record)
  store.append(toCells([record]))
  while (!reports.follow(SLICE).isDone);
  return longest(timesOf(campaigns[0] as Utm, DEFAULT_VIEW))
})
console.log(line('after one new status', longest(late.map(Number))))

const naive = createNaiveReports(events, 'demo')
let wrong = 0
for (const utm of campaigns)
  for (const view of views) {
    timesOf(utm, view)
    const counted = reports.read('demo', utm, reports.end('demo'), view)
    const expected = naive.read(utm, view)
    for (const name of Object.keys(expected) as (keyof typeof expected)[])
      if (!isDeepStrictEqual(sorted(counted?.[name]), sorted(expected[name]))) {
        wrong++
        console.log(`${utm.utm_campaign}, ${name}:`, counted?.[name], 'instead of', expected[name])
      }
    console.log(
      line(
        `${utm.utm_campaign}, ${view.timeZone}`,
        `${counted?.orders} orders`,
        counted?.revenue ?? '',
      ),
    )
  }
console.log(`${naive.credited} orders are credited. Figures that differ: ${wrong}`)
const calls = [...first, ...again]
console.log(
  `target: the longest call under ${TARGET_MS} ms: ${Math.max(...calls) < TARGET_MS ? 'kept' : 'MISSED'}`,
)
reports.close()
store.close()
rmSync(folder, { recursive: true })
if (wrong > 0) process.exitCode = 1

/** Without the order of the names. */
function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, inner]) => [name, sorted(inner)] as const)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  )
}
