import { randomUUID } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { CampaignRecord } from '../contract/index.ts'
import { prepareGateway, send } from '../test/gateway.ts'
import { completePayloads } from '../test/payloads.ts'
import type { LogEvent } from './collect/eventLog.ts'
import type { Gateway, GatewayOptions } from './index.ts'

/** Events whose retention is over, in a whole gateway: they are removed, and no byte of them stays in the data folder. */
const DAY_MS = 86_400_000
const NOON = Date.UTC(2026, 10, 2, 12)
/** No pause, so that a test need not wait. */
const SWEEP = { firstMs: 0, pauseMs: 20 }
const WAIT = { timeout: 30_000, interval: 50 }

const KEYS = { customerId: 'shop', restKey: 'REST-KEY-00000001', trackingKey: 'SHOPKEY1' }

let prepared: Awaited<ReturnType<typeof prepareGateway>>
let folders = 0
beforeAll(async () => {
  prepared = await prepareGateway()
})
afterAll(() => prepared.end())

/** A data folder, and gateways over it. `clock.now` is their time. */
function open() {
  const dataDir = join(prepared.folder, `data-${++folders}`)
  const clock = { now: NOON }
  return {
    dataDir,
    clock,
    start: (options: Partial<GatewayOptions> = {}): Promise<Gateway> =>
      prepared.start({ dataDir, now: () => clock.now, sweep: SWEEP, ...options }),
    /** The markers in the bytes of all files. */
    markers(): string[] {
      const found = new Set<string>()
      for (const name of readdirSync(dataDir)) {
        const bytes = readFileSync(join(dataDir, name), 'latin1')
        for (const [marker] of bytes.matchAll(/marker-[a-z]+-\d+/g)) found.add(marker)
      }
      return [...found].sort()
    },
  }
}

const markersOf = (n: number) =>
  ['address', 'did', 'email', 'url'].map((kind) => `marker-${kind}-${n}`)

function makeEvent(n: number, at: number, customer = 'shop'): LogEvent {
  const [address, did, email, url] = markersOf(n)
  return {
    customer,
    id: randomUUID(),
    at,
    receivedAt: at,
    operation: 'setEmail',
    event: 'set_email',
    did: did as string,
    bot: false,
    version: null,
    payload: JSON.stringify({
      did,
      email: `${email}@mail.test`,
      url: `https://${url}.test/?utm_campaign=autumn-mugs&utm_medium=email&utm_source=newsletter`,
      remote_addr: address,
      fill: 'x'.repeat(n % 2 === 0 ? 9_000 : 100),
    }),
  }
}

const eventsOf = async (gateway: Gateway): Promise<(string | null)[]> =>
  (await gateway.log.read({ max: 1_000 })).map(({ did }) => did)

async function addCampaign(gateway: Gateway): Promise<void> {
  await gateway.campaigns.create('shop', {
    ...completePayloads.create,
    type: 'email',
    id: 'c-1',
    status: 'scheduled',
    created_at: '2026-01-01T00:00:00.000Z',
    tracking: { utm_campaign: 'autumn-mugs', utm_medium: 'email', utm_source: 'newsletter' },
  } as CampaignRecord)
}

async function reportOf(gateway: Gateway): Promise<unknown> {
  const query = `k=${KEYS.restKey}&u=shop`
  const path = `/api/v1/campaigns/c-1/email/get-report?${query}`
  const { status, text } = await send(gateway.url, path)
  expect(status).toBe(200)
  return JSON.parse(text)
}

test('what is older than the retention is in no byte of any file, and reports count it', async () => {
  const { start, clock, markers } = open()
  const gateway = await start()
  gateway.customers.add({ ...KEYS, retentionDays: 30 })
  gateway.customers.add({ customerId: 'other', trackingKey: 'OTHERKEY1' })
  await addCampaign(gateway)
  await gateway.log.append([
    makeEvent(1, NOON),
    makeEvent(2, NOON + DAY_MS),
    makeEvent(3, NOON + DAY_MS, 'other'),
    makeEvent(4, NOON + 20 * DAY_MS),
  ])
  const before = await reportOf(gateway)
  expect(before).toMatchObject({ visitors: 3, identified: 3 })
  expect(markers()).toEqual([1, 2, 3, 4].flatMap(markersOf).sort())

  clock.now = NOON + 31 * DAY_MS
  await vi.waitFor(() => expect(markers()).toEqual([3, 4].flatMap(markersOf).sort()), WAIT)
  expect(await eventsOf(gateway)).toEqual(['marker-did-3', 'marker-did-4'])
  expect(await reportOf(gateway)).toEqual(before)

  clock.now = NOON + 60 * DAY_MS
  await vi.waitFor(() => expect(markers()).toEqual(markersOf(3)), WAIT)
  expect(await reportOf(gateway)).toEqual(before)
  expect(gateway.findUnready()).toBe(undefined)
  await gateway.close()
  expect(markers()).toEqual(markersOf(3))

  // Also after a restart, and without the reports' file.
  for (const end of ['', '-wal', '-shm'])
    rmSync(join(prepared.folder, `data-${folders}`, `reports.db${end}`), { force: true })
  expect(await reportOf(await start())).toEqual(before)
})

test('a live view and a page that sends an event again notice nothing', async () => {
  const { start, clock } = open()
  const gateway = await start()
  gateway.customers.add({ ...KEYS, retentionDays: 1 })
  const event = makeEvent(1, NOON)
  await gateway.log.append([event, makeEvent(2, NOON), makeEvent(3, NOON + DAY_MS)])
  clock.now = NOON + DAY_MS
  await vi.waitFor(async () => expect(await eventsOf(gateway)).toEqual(['marker-did-3']), WAIT)
  expect(await gateway.log.append([event])).toEqual(['duplicate'])
  expect(await gateway.log.has('shop', [event.id])).toEqual([true])
  expect(await gateway.log.findTail('shop', 200)).toEqual({ after: 0, newest: 3 })
  expect(await gateway.log.read({ customer: 'shop', after: 1, max: 9 })).toHaveLength(1)
})

test('a retention that is set later applies to what is stored, also of a removed customer', async () => {
  const { start, clock, markers } = open()
  const gateway = await start()
  gateway.customers.add(KEYS)
  await gateway.log.append([makeEvent(1, NOON), makeEvent(2, NOON + 5 * DAY_MS)])
  clock.now = NOON + 6 * DAY_MS
  gateway.customers.change('shop', { retentionDays: 3 })
  await vi.waitFor(() => expect(markers()).toEqual(markersOf(2)), WAIT)
  gateway.customers.remove('shop')
  clock.now = NOON + 9 * DAY_MS
  await vi.waitFor(() => expect(markers()).toEqual([]), WAIT)
})

test('several gateways over one folder remove each event once, and one that starts finishes', async () => {
  const { start, clock, markers } = open()
  const [one, other] = [await start(), await start()]
  one.customers.add({ ...KEYS, retentionDays: 2 })
  await addCampaign(one)
  const events = Array.from({ length: 600 }, (_, n) => makeEvent(n, NOON + (n % 3) * DAY_MS))
  events.sort((a, b) => a.receivedAt - b.receivedAt)
  await one.log.append(events)
  const before = await reportOf(one)
  clock.now = NOON + 3 * DAY_MS
  // Neither gets far before it is closed.
  await vi.waitFor(async () => expect((await eventsOf(one)).length).toBeLessThan(600), WAIT)
  await Promise.all([one.close(), other.close()])
  const third = await start()
  const kept = events.filter(({ receivedAt }) => receivedAt >= NOON + 2 * DAY_MS - DAY_MS / 2)
  await vi.waitFor(async () => expect((await eventsOf(third)).length).toBe(kept.length), WAIT)
  await vi.waitFor(() => expect(markers().length).toBe(kept.length * 4), WAIT)
  expect(await reportOf(third)).toEqual(before)
})

test('a clock that jumps ahead removes the events of a day at most with each pass', async () => {
  const { start, clock } = open()
  const gateway = await start({ sweep: { firstMs: 1_000_000 } })
  gateway.customers.add({ ...KEYS, retentionDays: 10 })
  await gateway.log.append(Array.from({ length: 11 }, (_, n) => makeEvent(n, NOON + n * DAY_MS)))
  await gateway.close()
  clock.now = NOON + 10 * DAY_MS
  const pass = async (): Promise<number> => {
    const removed = vi.fn()
    const gateway = await start({
      sweep: { firstMs: 0, pauseMs: 1_000_000 },
      onRemoved: removed,
    })
    await vi.waitFor(() => expect(removed).toHaveBeenCalled(), WAIT)
    const { length } = await eventsOf(gateway)
    await gateway.close()
    return length
  }
  expect(await pass()).toBe(10)
  // Ten years ahead.
  clock.now += 3_650 * DAY_MS
  expect(await pass()).toBe(9)
  expect(await pass()).toBe(8)
})

test('events that were stored under a wrong clock are removed in the order of the log', async () => {
  const { start, clock } = open()
  const gateway = await start()
  gateway.customers.add({ ...KEYS, retentionDays: 10 })
  await gateway.log.append([
    makeEvent(1, NOON),
    // A clock that is years ahead, then one that begins at 1970.
    makeEvent(2, NOON + 3_000 * DAY_MS),
    makeEvent(3, NOON + DAY_MS),
    makeEvent(4, NOON + 5 * DAY_MS),
    makeEvent(5, 0 + DAY_MS),
    makeEvent(6, NOON + 6 * DAY_MS),
  ])
  const left = (...numbers: number[]) =>
    vi.waitFor(
      async () => expect(await eventsOf(gateway)).toEqual(numbers.map((n) => `marker-did-${n}`)),
      WAIT,
    )
  clock.now = NOON + 10 * DAY_MS
  // Of the second one nothing is known yet.
  await left(2, 3, 4, 5, 6)
  clock.now = NOON + 11 * DAY_MS
  await left(4, 5, 6)
  clock.now = NOON + 15 * DAY_MS
  await left(6)
})

test('while the figures of reports can not be closed, nothing is removed', async () => {
  const { start, clock, dataDir } = open()
  const first = await start({ sweep: { firstMs: 1_000_000 } })
  first.customers.add({ ...KEYS, retentionDays: 1 })
  await addCampaign(first)
  await first.log.append([makeEvent(1, NOON)])
  await first.close()
  clock.now = NOON + DAY_MS
  // In the place of the reports there is a folder.
  rmSync(join(dataDir, 'reports.db'), { force: true })
  mkdirSync(join(dataDir, 'reports.db', 'in'), { recursive: true })
  const onError = vi.fn()
  const gateway = await start({ onError })
  await vi.waitFor(
    () => expect(onError).toHaveBeenCalledWith(expect.anything(), 'the removal of old events'),
    WAIT,
  )
  expect(await eventsOf(gateway)).toEqual(['marker-did-1'])
  expect(gateway.findUnready()).toBe(undefined)
  rmSync(join(dataDir, 'reports.db'), { recursive: true })
  await vi.waitFor(async () => expect(await eventsOf(gateway)).toEqual([]), WAIT)
  expect(await reportOf(gateway)).toMatchObject({ visitors: 1 })
})

test('removed events are counted in the metrics and reported once a pass', async () => {
  const { start, clock } = open()
  const onRemoved = vi.fn()
  const gateway = await start({ metricsPort: 0, onRemoved })
  gateway.customers.add({ ...KEYS, retentionDays: 1 })
  await gateway.log.append(Array.from({ length: 250 }, (_, n) => makeEvent(n * 2 + 1, NOON)))
  clock.now = NOON + DAY_MS
  await vi.waitFor(() => expect(onRemoved).toHaveBeenCalledExactlyOnceWith(250), WAIT)
  const { text } = await send(gateway.metricsUrl as string, '/metrics')
  expect(text).toContain('events_removed_total 250')
})
