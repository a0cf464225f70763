// The speed of gateways on a cluster of three nodes, compared in the same run with SQLite and with a bare node:http
// server. Everything runs on this machine: rates say little about machines of their own, but CPU an event does. As in
// gateway.ts the ways alternate in slices of half a second, and the best slice counts. Needs nats-server, and Linux for
// the CPU time of other processes.
//
//   node e2e/run.mjs e2e/bench/cluster.ts --only cost --rounds 8           two minutes
//   node e2e/run.mjs e2e/bench/cluster.ts --only growth --sizes 1000000,10000000
//   node e2e/run.mjs e2e/bench/cluster.ts --profile cpu                    profiles of the gateways, in the folder cpu
//
// --only: cost, rate, gateways, growth.
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Unavailable } from '../../src/gateway/lib/unavailable.ts'
import { connectBroker } from '../../src/gateway/nats/broker.ts'
import { encodeEvent, messageIdOf } from '../../src/gateway/nats/eventMessage.ts'
import { eventSubject, partitionOf, streamOf } from '../../src/gateway/nats/names.ts'
import { createPublisher, type Publisher } from '../../src/gateway/nats/publisher.ts'
import { connect } from '../../src/gateway/sqlite/driver.ts'
import { type NatsAccount, startNatsCluster } from '../../src/test/natsCluster.ts'
import { createEvents } from '../benchEvents.ts'
import type { Job, Load } from '../benchLoad.ts'
import { line, median } from '../benchPages.ts'
import {
  BATCH,
  bareJob,
  batch,
  CONNECTIONS,
  type Generator,
  onCore,
  oneEvent,
  type Server,
  startGenerator,
  startServer,
} from '../benchServers.ts'
import { makeFolder, UNLIMITED } from '../gateway.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '16' },
    /** Events that each way stores before its cost is measured. */
    warm: { type: 'string', default: '100000' },
    /** Parts, separated by commas. Default: all. */
    only: { type: 'string' },
    /** Events a second that are sent while the time of an answer and the cost of followers are measured. */
    offered: { type: 'string', default: '2000' },
    /** Events in the log, for growth. */
    sizes: { type: 'string', default: '100000' },
    /** Folder for CPU profiles of the gateways. */
    profile: { type: 'string' },
  },
})
const ROUNDS = Number(values.rounds)
/**
 * V8 compiles what runs often. In batches the first 10,000 events of a gateway cost about twice as much each as those
 * after 100,000, and a gateway that stores fewer events a second is slow for a longer time. So all ways begin with the
 * same number of events.
 */
const WARM_EVENTS = Number(values.warm)
const SIZES = values.sizes.split(',').map(Number)
const SLICE_MS = 500
/** Events a second that each of two gateways gets at the same time. */
const PAIR_RATES = [1_000, 3_000]
const OFFERED = Number(values.offered)
const OFFER_MS = 3_000
const OFFER_ROUNDS = 5
const PARTITIONS = 4
/** Slices with one, two and three gateways. */
const GATEWAY_ROUNDS = 6
/** Customers, publications at once and messages of each while the log is filled. */
const FILL_CUSTOMERS = 50
const FILL_AT_ONCE = 16
const FILL_BATCH = 32
/** Time for a publication, ms: also for the election of a leader on a busy machine. */
const FILL_DEADLINE_MS = 120_000

type Way = {
  readonly name: string
  readonly server: Server
  readonly job: Job
  readonly events: number
  readonly status: number
  /** The way that this one is compared with. */
  readonly against?: string
  readonly target?: string
}
/** Of an event, µs. */
type Cost = { readonly gateway: number; readonly main: number; readonly nodes: number }
type Slice = Cost & { readonly load: Load }

const isWanted = (part: string): boolean => !values.only || values.only.split(',').includes(part)

const folders: string[] = []
console.log('Starting three nodes')
const cluster = await startNatsCluster()
const nodes = findNodes()
try {
  if (isWanted('pair')) await measurePair()
  if (isWanted('cost')) await measureCost()
  if (isWanted('rate')) await measureRate()
  if (isWanted('gateways')) await measureGateways()
  if (isWanted('growth')) await measureGrowth()
} finally {
  await cluster.end()
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
}
process.exit()

/**
 * CPU an event on SQLite and on the cluster, with the same events at the same rate and at the same time. So both have
 * the same share of the processors and of their caches, which the nodes use too.
 */
async function measurePair(): Promise<void> {
  const generators = [startGenerator(onCore(1)), startGenerator(onCore(1))]
  const servers = [await startGateway('SQLite'), await startGateway('cluster', newAccount(), false)]
  console.log(
    line(
      'CPU µs an event, at the same time',
      ...['SQLite', 'cluster', 'times, median', 'best', 'must / should'],
    ),
  )
  for (const [kind, make, events] of [
    ['POST /t/r', oneEvent, 1],
    [`batches of ${BATCH}`, batch, BATCH],
  ] as const)
    for (const rate of PAIR_RATES) {
      const costs: [number, number][] = []
      for (let round = 0; round <= ROUNDS; round++) {
        const slices = await Promise.all(
          servers.map((server, i) => {
            const job = { ...make(server, SLICE_MS), offered: rate / events }
            const way = { name: server.name, server, job, events, status: 200 }
            return measure(way, (given) => (generators[i] as Generator).run(given))
          }),
        )
        // The first one warms up.
        if (round > 0) costs.push(slices.map(({ gateway }) => gateway) as [number, number])
      }
      console.log(
        line(
          `${kind}, ${rate} events a second`,
          median(costs.map(([one]) => one)).toFixed(1),
          median(costs.map(([, one]) => one)).toFixed(1),
          median(costs.map(([one, other]) => other / one)).toFixed(2),
          (
            Math.min(...costs.map(([, one]) => one)) / Math.min(...costs.map(([one]) => one))
          ).toFixed(2),
          '1.5 / 1.2',
        ),
      )
    }
  for (const { end } of [...generators, ...servers]) end()
}

/** CPU an event at saturation: SQLite, a gateway without and with followers in its process. */
async function measureCost(): Promise<void> {
  const generator = startGenerator()
  const bare = await startServer('bare', ['bare'])
  const sqlite = await startGateway('SQLite')
  const alone = await startGateway('cluster', newAccount(), false)
  const both = await startGateway('cluster, follows too', newAccount(), true)
  const ways: Way[] = [
    { name: 'bare, POST', server: bare, job: bareJob(bare, SLICE_MS), events: 1, status: 204 },
  ]
  for (const [kind, make, events] of [
    ['POST /t/r', oneEvent, 1],
    [`POST /t/batch of ${BATCH}`, batch, BATCH],
  ] as const)
    for (const server of [sqlite, alone, both])
      ways.push({
        name: `${server.name}, ${kind}`,
        server,
        job: make(server, SLICE_MS),
        events,
        status: 200,
        against: server === sqlite ? 'bare, POST' : `SQLite, ${kind}`,
        ...(server === alone && { target: '1.5 / 1.2' }),
      })

  for (const { job, events } of ways)
    for (let stored = 0; stored < WARM_EVENTS; )
      stored += (await generator.run(job)).answers * events
  const slices = new Map<string, Slice[]>()
  for (let round = 0; round < ROUNDS; round++)
    for (const way of ways) {
      const slice = await measure(way, (job) => generator.run(job))
      slices.set(way.name, [...(slices.get(way.name) ?? []), slice])
    }
  generator.end()
  for (const server of [bare, sqlite, alone, both]) server.end()

  const best = (name: string, read: (slice: Slice) => number) =>
    Math.min(...(slices.get(name) ?? []).map(read))
  console.log(
    line(
      `${CONNECTIONS} connections, 636 bytes`,
      ...['CPU µs', 'main thread', 'times', 'must / should', 'nodes µs', 'a second', 'p99 ms'],
    ),
  )
  for (const { name, against, target = '', events } of ways) {
    const cpu = best(name, ({ gateway }) => gateway)
    const all = slices.get(name) ?? []
    console.log(
      line(
        name,
        cpu.toFixed(1),
        best(name, ({ main }) => main).toFixed(1),
        against ? (cpu / best(against, ({ gateway }) => gateway)).toFixed(2) : '',
        target,
        name.startsWith('cluster') ? best(name, (slice) => slice.nodes).toFixed(0) : '',
        (Math.max(...all.map(({ load }) => load.answers / load.seconds)) * events).toFixed(0),
        median(all.map(({ load }) => load.p99)).toFixed(1),
      ),
    )
  }
}

/** The time of an answer at a fixed rate, and what everybody spends on an event then. */
async function measureRate(): Promise<void> {
  const generator = startGenerator(onCore(1))
  const account = newAccount()
  const sqlite = await startGateway('SQLite')
  const gateway = await startGateway('cluster', account, false)
  const follower = await startFollower(account)
  const costs = new Map<string, (Cost & { follower: number; p50: number; p99: number })[]>()
  for (let round = 0; round <= OFFER_ROUNDS; round++)
    for (const server of [sqlite, gateway]) {
      const job = { ...oneEvent(server, OFFER_MS), offered: OFFERED }
      const way = { name: server.name, server, job, events: 1, status: 200 }
      const before = await follower.micros()
      const { load, ...cost } = await measure(way, (given) => generator.run(given))
      if (server === gateway) await untilCopied(account, follower.folder)
      const spent = ((await follower.micros()) - before) / load.answers
      // The first one warms up.
      if (round > 0)
        costs.set(server.name, [
          ...(costs.get(server.name) ?? []),
          { ...cost, follower: spent, p50: load.p50, p99: load.p99 },
        ])
    }
  generator.end()
  follower.end()
  for (const server of [sqlite, gateway]) server.end()
  console.log(
    line(
      `${OFFERED} a second`,
      ...['p99, median', 'p99, best', 'p50, median', 'gateway µs', 'nodes µs', 'follower µs'],
    ),
  )
  for (const [name, all] of costs) {
    const least = (read: (cost: (typeof all)[number]) => number) => Math.min(...all.map(read))
    const isCluster = name === 'cluster'
    console.log(
      line(
        name,
        median(all.map(({ p99 }) => p99)).toFixed(1),
        least(({ p99 }) => p99).toFixed(1),
        median(all.map(({ p50 }) => p50)).toFixed(1),
        least((cost) => cost.gateway).toFixed(0),
        isCluster ? least((cost) => cost.nodes).toFixed(0) : '',
        isCluster ? least((cost) => cost.follower).toFixed(0) : '',
      ),
    )
  }
}

/** Events a second with one, two and three gateways, each with a generator and a partition of its own. */
async function measureGateways(): Promise<void> {
  const account = newAccount()
  const gateways = [
    await startGateway('1', account, false),
    await startGateway('2', account, false),
    await startGateway('3', account, false),
  ]
  const generators = gateways.map(() => startGenerator())
  console.log(line('events a second', 'best of slices', 'gateways µs', 'nodes µs'))
  for (const [kind, make, events] of [
    ['POST /t/r', oneEvent, 1],
    [`batches of ${BATCH}`, batch, BATCH],
  ] as const)
    for (let count = 1; count <= gateways.length; count++) {
      const slices: (Cost & { readonly rate: number })[] = []
      for (let round = 0; round <= GATEWAY_ROUNDS; round++) {
        const used = gateways.slice(0, count)
        const slice = await Promise.all(
          used.map((server, i) => {
            const job = make(server, SLICE_MS, keyOf(server, i))
            const way = { name: kind, server, job, events, status: 200 }
            return measure(way, (given) =>
              (generators[i] as (typeof generators)[number]).run(given),
            )
          }),
        )
        const sent = slice.map(({ load }) => load.answers * events)
        const sum = sent.reduce((all, one) => all + one, 0)
        slices.push({
          rate: slice.reduce((all, { load }) => all + (load.answers * events) / load.seconds, 0),
          gateway: slice.reduce((all, { gateway }, i) => all + gateway * (sent[i] ?? 0), 0) / sum,
          main: 0,
          // All slices have measured the same nodes.
          nodes: Math.max(...slice.map((one, i) => one.nodes * (sent[i] ?? 0))) / sum,
        })
      }
      const best = slices.slice(1)
      console.log(
        line(
          `${count} of ${gateways.length} gateways, ${kind}`,
          Math.max(...best.map(({ rate }) => rate)).toFixed(0),
          Math.min(...best.map(({ gateway }) => gateway)).toFixed(1),
          Math.min(...best.map((slice) => slice.nodes)).toFixed(0),
        ),
      )
    }
  for (const generator of generators) generator.end()
  for (const gateway of gateways) gateway.end()
}

/** What an event costs with more and more events in the log. */
async function measureGrowth(): Promise<void> {
  const account = newAccount()
  const gateway = await startGateway('cluster', account, false)
  const follower = await startFollower(account)
  const generator = startGenerator()
  const broker = await connectBroker(account)
  console.log(
    line(
      'events in the log',
      ...[
        'gateway µs',
        'nodes µs',
        'follower µs',
        'copying µs',
        'log, MB',
        'copies, MB',
        'nodes, MB',
      ],
    ),
  )
  let size = 0
  for (const wanted of [0, ...SIZES]) {
    const filledFrom = await follower.micros()
    const filled = wanted - size
    if (filled > 0) await fill(size, wanted)
    await untilCopied(account, follower.folder)
    const copying = ((await follower.micros()) - filledFrom) / filled
    size = Math.max(size, wanted)
    const costs: (Cost & { readonly follower: number })[] = []
    for (let round = 0; round <= OFFER_ROUNDS; round++) {
      const job = { ...oneEvent(gateway, OFFER_MS), offered: OFFERED }
      const way = { name: 'growth', server: gateway, job, events: 1, status: 200 }
      const before = await follower.micros()
      const { load, ...cost } = await measure(way, (given) => generator.run(given))
      await untilCopied(account, follower.folder)
      const spent = ((await follower.micros()) - before) / load.answers
      if (round > 0) costs.push({ ...cost, follower: spent })
      size += load.answers
    }
    const least = (read: (cost: (typeof costs)[number]) => number) => Math.min(...costs.map(read))
    const states = await Promise.all(
      Array.from({ length: PARTITIONS }, (_, partition) =>
        broker.jsm.streams.info(streamOf(partition)),
      ),
    )
    const bytes = states.reduce((sum, { state }) => sum + state.bytes, 0)
    console.log(
      line(
        `${wanted}`,
        least((cost) => cost.gateway).toFixed(1),
        least((cost) => cost.nodes).toFixed(0),
        least((cost) => cost.follower).toFixed(1),
        filled > 0 ? copying.toFixed(1) : '',
        (bytes / 1e6).toFixed(0),
        (sizeOf(follower.folder) / 1e6).toFixed(0),
        (nodes.reduce((sum, pid) => sum + residentBytes(pid), 0) / 1e6).toFixed(0),
      ),
    )
  }
  generator.end()
  gateway.end()
  follower.end()
  await broker.close()

  async function fill(from: number, to: number): Promise<void> {
    const next = createEvents({
      customers: FILL_CUSTOMERS,
      devices: Math.max(1_000, Math.ceil(to / 8)),
      visitors: 0.3,
      anywhere: 0.15,
      seed: from + 5,
    })
    // It sends again what a partition without a leader does not take.
    const publisher = createPublisher(broker.nc, { deadlineMs: FILL_DEADLINE_MS, onTimeout() {} })
    let sent = from
    await Promise.all(
      Array.from({ length: FILL_AT_ONCE }, async () => {
        while (sent < to) {
          const count = Math.min(FILL_BATCH, to - sent)
          sent += count
          const messages = Array.from({ length: count }, () => {
            // A customer that exists nowhere: the copies keep its events too.
            const event = next(Date.now())
            const partition = broker.partitionOf(event.customer)
            const subject = eventSubject(partition, event.customer)
            return { partition, subject, id: messageIdOf(event), data: encodeEvent(event) }
          })
          await publishWhole(publisher, messages)
        }
      }),
    )
    await publisher.close()
  }
}

/** Publishes again what a busy machine has not taken in time: the ids are the same, so it is stored once. */
async function publishWhole(
  publisher: Publisher,
  messages: Parameters<Publisher['publish']>[0],
): Promise<void> {
  for (;;)
    try {
      await publisher.publish(messages)
      return
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
    }
}

/** Runs a load, and divides the CPU time that it takes by its events. */
async function measure(
  { name, server, job, events, status }: Way,
  run: (job: Job) => Promise<Load>,
): Promise<Slice> {
  const [before, nodesBefore] = [await server.usage(), nodesMicros()]
  const load = await run(job)
  const [after, nodesAfter] = [await server.usage(), nodesMicros()]
  const [first] = load.statuses
  if (load.statuses.length !== 1 || first?.[0] !== status)
    throw new Error(`${name}: expected ${status}, received ${JSON.stringify(load.statuses)}`)
  const stored = load.answers * events
  return {
    load,
    gateway: (after.cpuMicros - before.cpuMicros) / stored,
    main: (after.mainMicros - before.mainMicros) / stored,
    nodes: (nodesAfter - nodesBefore) / stored,
  }
}

function newAccount(): NatsAccount & { readonly partitions: number } {
  return { ...cluster.takeAccount(), partitions: PARTITIONS }
}

/** A key of a server whose customer is in a partition. */
function keyOf({ customerIds }: Server, partition: number): number {
  const found = customerIds.findIndex((customer) => partitionOf(customer, PARTITIONS) === partition)
  if (found < 0) throw new Error(`No customer is in partition ${partition}. Repeat this`)
  return found
}

/** Starts a gateway with limits that do not refuse the flood of one address. Without an account it has SQLite. */
function startGateway(name: string, account?: NatsAccount, follow?: boolean): Promise<Server> {
  const folder = makeFolder('bench-cluster')
  folders.push(folder)
  const args = ['gateway', folder, JSON.stringify(UNLIMITED)]
  if (account) args.push('', JSON.stringify({ ...account, follow }))
  const profile = values.profile ? ['--cpu-prof', `--cpu-prof-dir=${resolve(values.profile)}`] : []
  return startServer(name, args, [], profile)
}

/** Starts a process that follows, and gets no requests. */
async function startFollower(account: NatsAccount) {
  const server = await startGateway('follower', account, true)
  const folder = folders.at(-1) as string
  await untilCopied(account, folder)
  return {
    folder,
    micros: async () => (await server.usage()).cpuMicros,
    end: () => server.end(),
  }
}

/** Resolves when the copies have everything that the streams have now. */
async function untilCopied(account: NatsAccount, folder: string): Promise<void> {
  const broker = await connectBroker(account)
  for (let partition = 0; partition < PARTITIONS; partition++) {
    const { state } = await broker.jsm.streams.info(streamOf(partition))
    while (copiedUpTo(join(folder, `partition-${partition}`, 'events.db')) < state.last_seq)
      await sleep(50)
  }
  await broker.close()
}

function copiedUpTo(file: string): number {
  if (!existsSync(file)) return -1
  const database = connect(file, { readonly: true, fileMustExist: true })
  try {
    return database.prepare<[], number>('SELECT last FROM copied').pluck().get() ?? -1
  } catch {
    // It is being made.
    return -1
  } finally {
    database.close()
  }
}

/** The nodes of the cluster, which are children of this process. */
function findNodes(): number[] {
  return readdirSync('/proc/self/task')
    .flatMap((task) => readFileSync(`/proc/self/task/${task}/children`, 'utf8').trim().split(' '))
    .filter((pid) => pid && readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === 'nats-server')
    .map(Number)
}

function nodesMicros(): number {
  return nodes.reduce((sum, pid) => sum + processorMicros(pid), 0)
}

/** CPU time of all threads of a process. The time of threads that have ended is not in it; these processes keep theirs. */
function processorMicros(pid: number): number {
  return readdirSync(`/proc/${pid}/task`).reduce((sum, task) => {
    try {
      const [nanos] = readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')
      return sum + Number(nanos) / 1e3
    } catch {
      return sum
    }
  }, 0)
}

function residentBytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1_024
}

function sizeOf(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + fileSize(join(entry.parentPath, entry.name)), 0)
}

function fileSize(path: string): number {
  try {
    return statSync(path).size
  } catch {
    return 0
  }
}
