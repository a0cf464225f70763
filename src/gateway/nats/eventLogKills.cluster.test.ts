import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { makeLogEvent } from '../../test/logEvents.ts'
import { type NatsCluster, startNatsCluster } from '../../test/natsCluster.ts'
import { findNewestConsumer } from '../../test/newestConsumer.ts'
import { createGroupCommit } from '../collect/groupCommit.ts'
import { Unavailable } from '../lib/unavailable.ts'
import { createAsk } from './ask.ts'
import { type Broker, connectBroker } from './broker.ts'
import type { ClusterNews } from './clusterNews.ts'
import { createNatsLog, type NatsLog } from './eventLog.ts'
import { eventSubject, streamOf } from './names.ts'
import { readMessages } from './readMessages.ts'

/** Long: elections take seconds, and the machine may be busy. */
const PATIENCE = { timeout: 60_000, interval: 100 }
/** For several elections or attempts. */
const SEVERAL = { ...PATIENCE, timeout: 120_000 }
const DEADLINE_MS = 2_000
/** One in each partition. */
const CUSTOMERS = ['c0', 'c1', 'c2', 'c3', 'c4', 'c5']

let cluster: NatsCluster
let broker: Broker
let engine: NatsLog
let log: ReturnType<typeof createGroupCommit>
const news: ClusterNews[] = []

beforeAll(async () => {
  cluster = await startNatsCluster()
  broker = await connectBroker({ ...cluster.takeAccount(), partitions: 2 })
  engine = createNatsLog({
    ...{ broker, ask: createAsk(broker.nc), deadlineMs: DEADLINE_MS },
    onCluster: (one) => void news.push(one),
  })
  log = createGroupCommit(engine, { deadlineMs: DEADLINE_MS })
})
afterAll(async () => {
  await log.close()
  await broker.close()
  await cluster.end()
})

/**
 * Senders that append events one after another, and repeat an event with the same id until it is acknowledged, as the
 * tracker does.
 */
function startLoad() {
  const acknowledged: { readonly customer: string; readonly id: string }[] = []
  let refusals = 0
  let isOver = false
  async function sendOn(customer: string): Promise<void> {
    while (!isOver) {
      const event = makeLogEvent({ customer })
      while (!(await appendOnce(event)));
      acknowledged.push({ customer, id: event.id })
    }
  }
  async function appendOnce(event: ReturnType<typeof makeLogEvent>): Promise<boolean> {
    try {
      await log.append([event])
      return true
    } catch (error) {
      expect(error).toBeInstanceOf(Unavailable)
      refusals++
      await new Promise((resolve) => setTimeout(resolve, 50))
      return false
    }
  }
  const senders = Array.from({ length: 24 }, (_, i) => sendOn(CUSTOMERS[i % 6] as string))
  return {
    count: () => acknowledged.length,
    refusals: () => refusals,
    /** Resolves with what was acknowledged, when every sender has its last acknowledgement. */
    async end() {
      isOver = true
      await Promise.all(senders)
      return acknowledged
    },
  }
}

/** Messages of a subject in its stream, one by one: the counts by subject of a node that was restarted may be too low. */
async function countMessages(stream: string, subject: string): Promise<number> {
  const range = { stream, subject, after: 0, upTo: Number.MAX_SAFE_INTEGER }
  let messages = 0
  for await (const _ of readMessages(broker, range)) messages++
  return messages
}

/** The node that leads partition 0. */
async function findLeader(): Promise<number> {
  const { cluster: state } = await broker.jsm.streams.info(streamOf(0))
  return cluster.nodeOf(state?.leader)
}

/** The ids in the streams, by customer. */
async function storedIds(customer: string): Promise<readonly string[]> {
  const partition = broker.partitionOf(customer)
  const records = await log.read({ customer, max: 1_000_000 })
  // Otherwise the stream has an id twice, which a read leaves out.
  await expect
    .poll(() => countMessages(streamOf(partition), eventSubject(partition, customer)), PATIENCE)
    .toBe(records.length)
  return records.map(({ id }) => id)
}

test('kill -9 of the leader under load: nothing acknowledged is lost, and nothing is stored twice', async () => {
  const load = startLoad()
  await vi.waitFor(() => expect(load.count()).toBeGreaterThan(200), PATIENCE)
  const leader = await vi.waitFor(findLeader, PATIENCE)
  await cluster.kill(leader)
  const before = load.count()
  await vi.waitFor(() => expect(load.count()).toBeGreaterThan(before + 500), PATIENCE)
  await cluster.start(leader)
  const acknowledged = await load.end()
  for (const customer of CUSTOMERS) {
    const ids = await storedIds(customer)
    const own = acknowledged.filter((one) => one.customer === customer).map(({ id }) => id)
    expect(new Set(ids)).toEqual(new Set(own))
  }
}, 180_000)

test.each([
  ['is killed', false],
  ['was also that of the connection, and is killed', true],
])(
  'new events are announced although the node of their consumer %s',
  async (_, isConnected) => {
    const partition = broker.partitionOf('c0')
    let calls = 0
    let since = 0
    function listen() {
      since = Date.now()
      return engine.subscribe(() => void calls++, 'c0')
    }
    const findNode = async () => {
      const consumer = await findNewestConsumer(broker, streamOf(partition), since)
      return cluster.nodeOf(consumer.cluster?.leader)
    }
    let unlisten = listen()
    let node = -1
    // The cluster chooses the node of a consumer. It lists them after 4 s if one of them does not answer.
    await vi.waitFor(async () => {
      await vi.waitFor(() => expect(calls).toBeGreaterThan(0), PATIENCE)
      node = await findNode()
      if ((node === cluster.nodeOfConnection(broker.nc)) === isConnected) return
      unlisten()
      calls = 0
      unlisten = listen()
      throw new Error('The consumer is on another node')
    }, SEVERAL)
    await cluster.kill(node)
    await vi.waitFor(() => log.append([makeLogEvent({ customer: 'c0' })]), PATIENCE)
    const before = calls
    await vi.waitFor(() => log.append([makeLogEvent({ customer: 'c0' })]), PATIENCE)
    await vi.waitFor(() => expect(calls).toBeGreaterThan(before), PATIENCE)
    unlisten()
    await cluster.start(node)
  },
  300_000,
)

test('without a quorum appends fail at once after the first time-out, and work again when it is back', async () => {
  await vi.waitFor(async () => expect(await log.probe()).toBeUndefined(), PATIENCE)
  await Promise.all([cluster.kill(0), cluster.kill(1)])
  const sent = makeLogEvent({ customer: 'c0' })
  await vi.waitFor(
    () => expect(log.append([sent])).rejects.toThrow('can not be written at the moment'),
    PATIENCE,
  )
  await vi.waitFor(async () => {
    // A leader that is left counts the others for 3 s, longer than the deadline here. So an event may time out once more.
    await expect(log.append([sent])).rejects.toBeInstanceOf(Unavailable)
    expect(log.health()).toEqual({
      writable: false,
      reason: 'no partition of the event log can be written',
    })
  }, PATIENCE)
  for (const customer of CUSTOMERS)
    await expect(log.append([makeLogEvent({ customer })])).rejects.toThrow('at the moment')
  expect(engine.figures().closedOff).toEqual([true, true])
  expect(news.filter(({ what }) => what === 'closed_off').length).toBeGreaterThan(1)
  await expect(log.probe()).rejects.toBeInstanceOf(Unavailable)
  // A question is answered, not refused.
  expect(await log.has('c0', [randomUUID()])).toEqual([false])

  await Promise.all([cluster.start(0), cluster.start(1)])
  await vi.waitFor(() => expect(log.health()).toEqual({ writable: true }), PATIENCE)
  await vi.waitFor(() => log.append([sent]), PATIENCE)
  expect(news.at(-1)?.what).toBe('writable')
  expect(engine.figures().repeatedMessages).toBeGreaterThan(0)
  await vi.waitFor(async () => {
    const ids = await storedIds('c0')
    expect(ids.filter((id) => id === sent.id)).toHaveLength(1)
  }, PATIENCE)
}, 180_000)

test('when a partition answers again, what its leader had already is not sent again', async () => {
  const patient = createNatsLog({ broker, ask: createAsk(broker.nc), deadlineMs: 600_000 })
  const customer = CUSTOMERS.find((one) => broker.partitionOf(one) === 0) as string
  const own = cluster.nodeOfConnection(broker.nc)
  // A leader keeps what it has got while the others are suspended.
  await vi.waitFor(async () => {
    if ((await findLeader()) === own) return
    await broker.nc.request(`$JS.API.STREAM.LEADER.STEPDOWN.${streamOf(0)}`)
    throw new Error('Another node leads the stream')
  }, PATIENCE)
  const others = [0, 1, 2].filter((node) => node !== own)
  for (const node of others) cluster.signal(node, 'SIGSTOP')
  const appended = Array.from({ length: 300 }, () => patient.append([makeLogEvent({ customer })]))
  await vi.waitFor(() => expect(patient.figures().repeatedMessages).toBeGreaterThan(0), PATIENCE)
  for (const node of others) cluster.signal(node, 'SIGCONT')
  await Promise.all(appended)
  expect(patient.figures().repeatedMessages).toBeLessThan(100)
  await patient.close()
}, 180_000)

test('without a connection events are refused at once, also those that wait', async () => {
  // Nothing ends at its deadline within this test.
  const patient = createNatsLog({ broker, ask: createAsk(broker.nc), deadlineMs: 600_000 })
  await vi.waitFor(() => patient.append([makeLogEvent({ customer: 'c0' })]), PATIENCE)
  await Promise.all([cluster.kill(0), cluster.kill(1), cluster.kill(2)])
  const sent = makeLogEvent({ customer: 'c0' })
  const refusal = new Unavailable('The connection to the cluster is lost', 5)
  await expect(patient.append([sent])).rejects.toEqual(refusal)
  for (const customer of CUSTOMERS)
    await expect(patient.append([makeLogEvent({ customer })])).rejects.toEqual(refusal)
  expect(patient.health()).toEqual({
    writable: false,
    reason: 'the connection to the cluster is lost',
  })

  await Promise.all([cluster.start(0), cluster.start(1), cluster.start(2)])
  await vi.waitFor(() => patient.append([sent]), PATIENCE)
  await patient.close()
}, 180_000)
