import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { makeCampaign } from '../test/campaignContract.ts'
import { awaitForgottenIds } from '../test/forgottenIds.ts'
import { layOutGateway } from '../test/gateway.ts'
import { makeRandomRecord } from '../test/orderRecords.ts'
import { takeAccount } from '../test/sharedCluster.ts'
import type { LogEvent } from './collect/eventLog.ts'
import { hashSecret } from './lib/secret.ts'
import { createAsk } from './nats/ask.ts'
import { type Broker, connectBroker } from './nats/broker.ts'
import { createNatsCampaigns } from './nats/campaigns.ts'
import { decodeCounts } from './nats/countsMessage.ts'
import { openNatsCustomers } from './nats/customers.ts'
import { decodeEvent, encodeEvent } from './nats/eventMessage.ts'
import { collectMessages } from './nats/follower/copyMessages.ts'
import { openMirror } from './nats/mirror.ts'
import { countsSubject, DERIVED_BUCKET, eventSubject, streamOf } from './nats/names.ts'
import { readMessages } from './nats/readMessages.ts'
import { slotOf } from './problems/problems.ts'
import { toCampaignRow } from './sqlite/campaignRows.ts'
import { toCells } from './sqlite/cells.ts'
import { createSqliteCustomers } from './sqlite/customers.ts'
import { type DerivedFile, openDerivedTables } from './sqlite/derivedTables.ts'
import { openForwardStore } from './sqlite/forwardStore.ts'
import { openStore } from './sqlite/store.ts'
import { bytesOf } from './sqlite/uuid.ts'

/** `shoptrail move`: a data folder with everything that a gateway stores, and an empty account of a cluster. */
const folder = layOutGateway()
const dataDir = join(folder, 'data')
/** Short, so that it is over when the move continues. */
const account = { ...takeAccount(), partitions: 2, duplicateWindowMs: 4_000 }
const EVENTS = 6_000
const CUSTOMERS = ['shop', 'two', 'three']
const NOON = Date.UTC(2026, 10, 28, 12)
/** Positions of events that were removed. */
const REMOVED = [2, 3_000, 5_999]
const POSITION = 4_001
const LETTER = 3_500

/** Of ten events, one is about an order or a subscriber. */
const event = (number: number): LogEvent => {
  const customer = CUSTOMERS[number % CUSTOMERS.length] as string
  return number % 10 === 4 ? makeRandomRecord(customer) : pageEvent(number, customer)
}
const pageEvent = (number: number, customer: string): LogEvent => ({
  customer,
  ...{ id: randomUUID(), at: NOON + number, receivedAt: NOON + 2 * number },
  ...{ operation: 'search', event: `search ${number}`, did: number % 2 ? 'd\0"1' : null },
  ...{ bot: number % 5 === 0, version: number % 3 ? '1.2.0' : null, cookieless: number % 7 === 0 },
  payload: JSON.stringify({ number, text: 'é"\n漢 😀' }),
})

/** By position: that of the first is 1. */
const events = Array.from({ length: EVENTS }, (_, i) => event(i + 1))
const at = (position: number) => events[position - 1] as LogEvent
const keptOf = (customer: string) =>
  events.filter((one, i) => one.customer === customer && !REMOVED.includes(i + 1))
const campaign = makeCampaign('c1')
let restKey = ''
let broker: Broker

beforeAll(async () => {
  prepareData()
  broker = await connectBroker(account)
})
afterAll(async () => {
  await broker?.close()
  rmSync(folder, { recursive: true })
})

function prepareData(): void {
  mkdirSync(dataDir)
  const customers = createSqliteCustomers(join(dataDir, 'customers.db'))
  restKey = customers.add({
    ...{ customerId: 'shop', origins: ['https://shop.example'], retentionDays: 30 },
    ...{ currency: 'RON', timeZone: 'Europe/Bucharest', refundStatuses: ['retur'] },
  }).restKey
  for (const customerId of ['two', 'three', 'gone']) customers.add({ customerId })
  customers.remove('gone')
  customers.close()
  const store = openStore(join(dataDir, 'events.db'))
  for (let i = 0; i < EVENTS; i += 2_000) store.append(toCells(events.slice(i, i + 2_000)))
  store.removeEvents(REMOVED)
  store.createCampaign(toCampaignRow('shop', campaign))
  store.writeCounts({
    problems: [
      {
        ...{ customer: 'two', day: 20_786, source: 'page', reason: 'invalid', operation: 'search' },
        ...{ path: 'query', page: '/', count: 3, first: NOON, last: NOON + 5, example: null },
      },
    ],
    coverage: [
      {
        customer: 'two',
        operation: 'search',
        slot: slotOf(NOON),
        events: 9,
        first: NOON,
        last: NOON + 9,
      },
    ],
    now: NOON,
  })
  store.close()
  const database = new Database(join(dataDir, 'events.db'))
  database.exec("INSERT INTO closed_reports VALUES ('shop', 86400000)")
  database.exec(`INSERT INTO closed_figures VALUES ('shop', x'0102', '{"sent":1}')`)
  database.exec(
    "INSERT INTO erasures (proof, customer, begun, ended, events) VALUES (7, 'shop', 1, 2, 3)",
  )
  database.close()
  openForwardStore(join(dataDir, 'forward.db')).close()
  const forward = new Database(join(dataDir, 'forward.db'))
  forward
    .prepare(
      `INSERT INTO destinations (id, customer, kind, name, paused, operations, leave_out, takes_cookieless, takes_bots, settings, created_at)
       VALUES ('dest1', ?, 'webhook', 'x', 0, '[]', '[]', 0, 0, '{}', 1)`,
    )
    .run(at(POSITION).customer)
  forward
    .prepare(
      "INSERT INTO progress (destination, seq, event, received_at) VALUES ('dest1', ?, ?, ?)",
    )
    .run(POSITION, at(POSITION).id, at(POSITION).receivedAt)
  forward.exec("INSERT INTO patches VALUES (3, '{}')")
  forward
    .prepare("INSERT INTO letters VALUES ('dest1', ?, ?, 'search', 'no', 1, 2, 3, 3, 0)")
    .run(LETTER, bytesOf(at(LETTER).id))
  forward.close()
}

const ENV = {
  DATA_DIR: dataDir,
  NATS_USER: account.user,
  NATS_PASSWORD: account.password,
  NATS_PARTITIONS: '2',
}

/** Runs the command as a process. */
function start(env: Readonly<Record<string, string>> = ENV) {
  const to = `nats://${account.servers.join(',')}`
  const child = spawn(
    process.execPath,
    [join(folder, 'dist/shoptrail.js'), 'move', '--from', 'sqlite', '--to', to],
    { env, stdio: ['ignore', 'pipe', 'pipe'] },
  )
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      output += chunk
    })
  const ended = new Promise<{ code: number | null; output: string }>((resolve) =>
    child.once('close', (code) => resolve({ code, output })),
  )
  return { child, ended }
}

/** The number of batches whose events are stored. */
function countCheckpoints(): number {
  try {
    const state = new Database(join(dataDir, 'move.db'), { readonly: true, fileMustExist: true })
    try {
      return state.prepare<[], number>('SELECT count(*) FROM checkpoints').pluck().get() ?? 0
    } finally {
      state.close()
    }
  } catch {
    return 0
  }
}

async function messagesOf(partition: number, subject?: string) {
  const messages = []
  const range = {
    ...{ stream: streamOf(partition), after: 0, upTo: Number.MAX_SAFE_INTEGER },
    ...(subject !== undefined && { subject }),
  }
  for await (const message of readMessages(broker, range)) messages.push(message)
  return messages
}

/**
 * What the copies have to have in common with the log: events, states of orders and subscribers, and counts of problems
 * and of stored events. Positions and the secret of hashes are those of each file.
 */
const COUNTS = [
  'SELECT customer, saved_at, versions, hex(digest), status FROM orders',
  'SELECT customer, at, versions, operation, hex(digest), unsubscribed_at FROM subscribers',
  'SELECT * FROM problems',
  'SELECT * FROM coverage_hours',
  "SELECT * FROM coverage WHERE customer <> ''",
  "SELECT began FROM coverage WHERE customer = ''",
]
const ROWS = `SELECT customer, hex(id) AS id, received_at, at, operation, event, did, bot, version, cookieless, payload
  FROM events`

/** The rows of all copies, after events that were removed have come again. */
async function copyAll() {
  const rows = new Set<string>()
  for (let partition = 0; partition < broker.partitions; partition++) {
    const file = join(folder, `copy-${partition}.db`)
    const store = openStore(file)
    store.beginCopy(broker.id)
    const collected = collectMessages()
    for (const message of await messagesOf(partition)) collected.add(message)
    const { last } = store.apply(collected.batch(0))
    const repeated = collectMessages()
    let seq = last
    for (const position of REMOVED) {
      const again = at(position)
      if (broker.partitionOf(again.customer) !== partition) continue
      const subject = eventSubject(partition, again.customer)
      repeated.add({ seq: ++seq, subject, data: encodeEvent(again), time: new Date() })
    }
    if (seq > last) store.apply(repeated.batch(last))
    store.close()
    const copy = new Database(file, { readonly: true })
    for (const row of rowsOf(copy)) rows.add(row)
    copy.close()
  }
  return rows
}

/** The rows as texts, which are compared faster. */
const rowsOf = (database: Database.Database): string[] =>
  [ROWS, ...COUNTS].flatMap((sql) =>
    database
      .prepare(sql)
      .all()
      .map((row) => JSON.stringify(row)),
  )

/** The mirrored rows of a partition. */
async function openDerived(partition: number, file: DerivedFile) {
  const path = join(folder, `derived-${partition}-${file}.db`)
  const rows = openDerivedTables(file, path)
  const mirror = openMirror({
    ...{ rows, broker, bucket: DERIVED_BUCKET, prefix: `${partition}.${file}.`, onError() {} },
  })
  await mirror.ready
  await mirror.close()
  rows.close()
  return new Database(path, { readonly: true })
}

test('everything is moved once, although the first move is killed', async () => {
  const first = start()
  await vi.waitFor(() => expect(countCheckpoints()).toBeGreaterThan(1), {
    timeout: 60_000,
    interval: 20,
  })
  first.child.kill('SIGKILL')
  await first.ended
  // As if the disk had lost what was noted last: two batches are stored, and perhaps a part of the next one.
  const state = new Database(join(dataDir, 'move.db'))
  state.exec(
    'DELETE FROM checkpoints WHERE source IN (SELECT source FROM checkpoints ORDER BY source DESC LIMIT 2)',
  )
  state.close()
  await awaitForgottenIds(broker)

  const { code, output } = await start().ended
  expect(output).toMatch(/[\d,]+ events in [\d,]+ s, [\d,]+ a second/)
  expect({ code, different: /.*DIFFERENT/.exec(output)?.[0] }).toEqual({ code: 0 })
  expect(output).toContain('5,997 in DATA_DIR, 5,997 in the cluster')

  const sequences = new Map<string, number>()
  for (const customer of CUSTOMERS) {
    const partition = broker.partitionOf(customer)
    const messages = await messagesOf(partition, eventSubject(partition, customer))
    const moved = messages.map(({ data, seq }) => {
      const one = decodeEvent(customer, data)
      sequences.set(one.id, seq)
      return one
    })
    expect(moved).toEqual(keptOf(customer))
  }

  mkdirSync(join(folder, 'customers'))
  const customers = await openNatsCustomers({
    ...{ broker, folder: join(folder, 'customers'), onError() {} },
  })
  expect(customers.customers.find('shop')).toMatchObject({
    ...{ origins: ['https://shop.example'], retentionDays: 30, restKeyHash: hashSecret(restKey) },
    ...{ currency: 'RON', timeZone: 'Europe/Bucharest', refundStatuses: ['retur'] },
  })
  expect(customers.customers.isRetired('gone')).toBe(true)
  await customers.close()

  const campaigns = createNatsCampaigns(broker, createAsk(broker.nc))
  const found = await campaigns.find('shop', 'c1')
  expect(JSON.parse(Buffer.from(found as Uint8Array).toString())).toEqual(campaign)

  const owner = broker.partitionOf(at(POSITION).customer)
  const forward = await openDerived(owner, 'forward')
  expect(forward.prepare('SELECT destination, seq, event FROM progress').all()).toEqual([
    {
      destination: 'dest1',
      seq: sequences.get(at(POSITION).id),
      event: at(POSITION).id,
    },
  ])
  expect(forward.prepare('SELECT seq, id, patch FROM letters').all()).toEqual([
    { seq: sequences.get(at(LETTER).id), id: bytesOf(at(LETTER).id), patch: 3 },
  ])
  forward.close()
  const derived = await openDerived(broker.partitionOf('shop'), 'events')
  expect(derived.prepare('SELECT proof, events FROM erasures').all()).toEqual([
    { proof: 7, events: 3 },
  ])
  expect(derived.prepare('SELECT customer, figures FROM closed_figures').all()).toEqual([
    { customer: 'shop', figures: '{"sent":1}' },
  ])
  derived.close()

  // A follower's copies have the same events and counts, and know the ids of those that were removed.
  const copied = await copyAll()
  const original = new Database(join(dataDir, 'events.db'), { readonly: true })
  const rows = new Set(rowsOf(original))
  original.close()
  expect([...copied].filter((row) => !rows.has(row))).toEqual([])
  expect([...rows].filter((row) => !copied.has(row))).toEqual([])

  // A third time, when everything is there.
  await awaitForgottenIds(broker)
  expect((await start().ended).code).toBe(0)
  const partition = broker.partitionOf('two')
  const counts = await messagesOf(partition, countsSubject(partition))
  const batches = counts.map(({ data }) => decodeCounts(data, NOON))
  expect(batches.flatMap(({ problems }) => problems)).toMatchObject([{ count: 3, path: 'query' }])
  expect(batches.flatMap(({ coverage }) => coverage)).toMatchObject([{ events: 9 }])
}, 300_000)

test('a cluster with other data is refused, and so is a folder that is in use', async () => {
  const other = join(folder, 'other')
  mkdirSync(other)
  const customers = createSqliteCustomers(join(other, 'customers.db'))
  customers.add({ customerId: 'other' })
  const store = openStore(join(other, 'events.db'))
  const used = await start({ ...ENV, DATA_DIR: other }).ended
  expect(used.code).toBe(1)
  expect(used.output).toContain('in use by another process. Stop the gateway')
  customers.close()
  store.close()
  const { code, output } = await start({ ...ENV, DATA_DIR: other }).ended
  expect(code).toBe(1)
  expect(output).toContain('The cluster has data already')
}, 120_000)
