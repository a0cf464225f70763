import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { layOutGateway, send, startProcess } from '../test/gateway.ts'
import { type NatsAccount, type NatsCluster, startNatsCluster } from '../test/natsCluster.ts'
import { findNewestConsumer } from '../test/newestConsumer.ts'
import type { LogEvent } from './collect/eventLog.ts'
import { prepareExport } from './exportCommand.ts'
import { type Broker, connectBroker } from './nats/broker.ts'
import { streamOf } from './nats/names.ts'
import { readMessages } from './nats/readMessages.ts'
import { readSettings } from './settings.ts'
import { toCells } from './sqlite/cells.ts'
import { createSqliteCustomers } from './sqlite/customers.ts'
import { openStore } from './sqlite/store.ts'

/** Commands that read and write a cluster of which a node is killed meanwhile. */
vi.setConfig({ testTimeout: 300_000, hookTimeout: 180_000 })
const SOON = { timeout: 60_000, interval: 20 }
const EVENTS = 6_000
const folder = layOutGateway()
const dataDir = join(folder, 'data')
const now = Date.now()
const events = Array.from(
  { length: EVENTS },
  (_, number): LogEvent => ({
    ...{ customer: 'shop', id: randomUUID(), at: now + number, receivedAt: now + number },
    ...{ operation: 'search', event: `${number}`, did: null, bot: false, version: null },
    payload: JSON.stringify({ number }),
  }),
)

let cluster: NatsCluster
let account: NatsAccount
let env: Readonly<Record<string, string>>
beforeAll(async () => {
  mkdirSync(dataDir)
  const customers = createSqliteCustomers(join(dataDir, 'customers.db'))
  customers.add({ customerId: 'shop' })
  customers.close()
  const store = openStore(join(dataDir, 'events.db'))
  for (let i = 0; i < EVENTS; i += 2_000) store.append(toCells(events.slice(i, i + 2_000)))
  store.close()
  cluster = await startNatsCluster()
  account = cluster.takeAccount()
  env = {
    DATA_DIR: dataDir,
    ENGINE: `nats://${account.servers.join(',')}`,
    NATS_USER: account.user,
    NATS_PASSWORD: account.password,
    NATS_PARTITIONS: '1',
  }
})
afterAll(async () => {
  await cluster?.end()
  rmSync(folder, { recursive: true, force: true })
})

/** Runs `shoptrail move` as a process. */
function move() {
  const { ENGINE = '', ...rest } = env
  const command = ['move', '--from', 'sqlite', '--to', ENGINE]
  const child = spawn(process.execPath, [join(folder, 'dist/shoptrail.js'), ...command], {
    env: rest,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output += chunk
    })
  return new Promise<{ code: number | null; output: string }>((resolve) =>
    child.once('close', (code) => resolve({ code, output })),
  )
}

/** Whether a batch of events is stored. */
function hasBegun(): boolean {
  try {
    const state = new Database(join(dataDir, 'move.db'), { readonly: true, fileMustExist: true })
    try {
      return state.prepare('SELECT 1 FROM checkpoints').get() !== undefined
    } finally {
      state.close()
    }
  } catch {
    return false
  }
}

/** Runs something with a connection, whichever nodes run. */
async function withBroker<Result>(run: (broker: Broker) => Promise<Result>): Promise<Result> {
  const broker = await connectBroker({ ...account, partitions: 1 })
  try {
    return await run(broker)
  } finally {
    await broker.close()
  }
}

const findLeader = () =>
  withBroker(async ({ jsm }) =>
    cluster.nodeOf((await jsm.streams.info(streamOf(0))).cluster?.leader),
  )

test('a move goes on although the node that it writes to is killed', async () => {
  const moving = move()
  await vi.waitFor(() => expect(hasBegun()).toBe(true), SOON)
  const leader = await vi.waitFor(findLeader, SOON)
  await cluster.kill(leader)
  const { code, output } = await moving
  await cluster.start(leader)
  expect({ code, output }).toEqual({
    code: 0,
    output: expect.stringContaining('6,000 in DATA_DIR, 6,000 in the cluster'),
  })
})

/** The node of the newest consumer. Waits until there is one that was created since then. */
const findReader = (broker: Broker, since: number) =>
  vi.waitFor(async () => {
    const consumer = await findNewestConsumer(broker, streamOf(0), since)
    return cluster.nodeOf(consumer.cluster?.leader)
  }, SOON)

/** Prepares `shoptrail export` in this process. */
function prepare(stdout: Writable) {
  const read = readSettings(env, {})
  if (!read.ok) throw new Error(read.message)
  const work = prepareExport({ customer: 'shop', format: 'ndjson' }, read.settings, {
    ...{ stdout, report() {}, signal: new AbortController().signal, groupRecords: 400 },
  })
  if (typeof work !== 'function') throw new Error(work.lines.join())
  return work
}

test('an export has each event once although the node that it reads from is killed', async () => {
  let written = ''
  let killed: Promise<number> | undefined
  /** Kills the node that has the consumer. */
  const kill = () =>
    withBroker(async (broker) => {
      const node = await findReader(broker, since)
      await cluster.kill(node)
      return node
    })
  const since = Date.now()
  const stdout = new Writable({
    write(chunk, _, done) {
      written += chunk
      // Before the first events there is no consumer.
      if (chunk.length === 0) return done()
      killed ??= kill()
      killed.then(() => done(), done)
    },
  })
  expect(await prepare(stdout)()).toMatchObject({ code: 0, errors: ['Exported 6,000 events.'] })
  await cluster.start(await (killed as Promise<number>))
  const ids = written
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line).id)
  expect(ids).toEqual(events.map(({ id }) => id))
})

test('reading goes on although the node of the connection and of the consumer is killed', async () => {
  await withBroker(async (broker) => {
    const connected = cluster.nodeOfConnection(broker.nc)
    const range = { stream: streamOf(0), after: 0, upTo: EVENTS }
    let killed: number | undefined
    // The cluster chooses the node of a consumer.
    while (killed === undefined) {
      let read = 0
      const since = Date.now()
      for await (const { seq } of readMessages(broker, range)) {
        read++
        expect(seq).toBe(read)
        if (read > 1) continue
        if ((await findReader(broker, since)) !== connected) break
        killed = connected
        await cluster.kill(killed)
      }
      if (killed !== undefined) expect(read).toBe(EVENTS)
    }
    await cluster.start(killed)
  })
})

test('a gateway that is stopped while the cluster has no majority ends', async () => {
  const gateway = await startProcess(folder, {
    ...{ ...env, DATA_DIR: join(folder, 'gateway') },
    // Longer than a stop takes on a busy machine.
    STOP_TIMEOUT_MS: '60000',
  })
  const readiness = async () => (await send(gateway.url, '/readyz')).status
  await expect.poll(readiness, SOON).toBe(200)
  await Promise.all([cluster.kill(0), cluster.kill(1)])
  const posted = send(gateway.url, `/t/r?k=DEMOSHOP&id=${randomUUID()}`, {
    method: 'POST',
    headers: { origin: 'http://localhost' },
    body: JSON.stringify({
      ...{ event: 'search', search_term: 'mug', did: 'd-1', url: 'http://localhost/' },
      ...{ http_user_agent: 'UA/1', remote_addr: '0.0.0.0' },
    }),
  })
  await expect.poll(readiness, SOON).toBe(503)
  const ended = gateway.end('SIGTERM')
  expect((await posted).status).toBe(503)
  expect(await ended, gateway.output()).toBe(0)
})

test('a move and an export without a cluster end with what to do', async () => {
  await Promise.all([0, 1, 2].map((node) => cluster.kill(node)))
  const { code, output } = await move()
  expect({ code, output }).toEqual({
    code: 1,
    output: expect.stringContaining('The cluster can not be reached'),
  })
  expect(await prepare(new Writable())()).toMatchObject({
    code: 1,
    errors: [expect.stringContaining('The cluster can not be reached')],
  })
})
