// The long form of the cluster's tests: three nodes of nats-server, two gateways behind a balancer and a process that
// only follows, under load. One after the other, nodes and processes are killed, and at last everything is restarted in
// turn. After each, what was acknowledged is compared with the streams and with the copies of every follower.
//
//   npm run cluster
//   npm run cluster -- --minutes 30 --seed 7
//   npm run cluster -- --only leader,rolling
//
// The same seed makes the same choices, but not the same timing. Exit code 1 if an acknowledged event is lost, or is
// anywhere twice.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { connect } from '@nats-io/transport-node'
import { createAsk } from '../../src/gateway/nats/ask.ts'
import { partitionOf } from '../../src/gateway/nats/names.ts'
import { startBalancer } from '../../src/test/balancer.ts'
import { findPort } from '../../src/test/findPort.ts'
import { startNatsCluster } from '../../src/test/natsCluster.ts'
import { type OwnGateway, runCommand, startOwnGateway } from '../gatewaySoak/gateways.ts'
import { createRandom } from '../random.ts'
import { compareCopies } from './copies.ts'
import { clusterEnv } from './env.ts'
import { type OwnFollower, startOwnFollower } from './follower.ts'
import { type Load, startLoad } from './load.ts'
import { openReplicas } from './replicas.ts'
import { openStreams } from './streams.ts'

const { values } = parseArgs({
  options: {
    /** Rounds through all faults. */
    rounds: { type: 'string', default: '1' },
    /** Rounds are begun until this time is over. */
    minutes: { type: 'string', default: '0' },
    /** Default: from the clock. */
    seed: { type: 'string' },
    /** Names of faults, separated by commas. Default all. */
    only: { type: 'string' },
    /** Devices of each of the four customers. */
    devices: { type: 'string', default: '8' },
  },
})
const seed = Number(values.seed ?? Date.now() % 100_000)
const random = createRandom(seed)
/** Events of each customer that must be acknowledged before, during and after a fault. */
const SOME_EVENTS = 100
/** Answers 503 after which a cluster without a majority has been down long enough. */
const SOME_REFUSED = 60
/** Time in which the nodes have to have the same messages again, ms. */
const SAME_MS = 30_000
/** Time for the balancer to see that a gateway stops, ms. The gateway's default. */
const DRAIN_MS = 5_000

type Row = {
  readonly fault: string
  readonly acknowledged: number
  readonly lost: number
  readonly twice: number
  readonly twiceInStreams: number
  readonly gap: number
  readonly refused: number
  readonly broken: number
  readonly unanswered: number
  readonly takeOver: number
  readonly note: string
}

/** The columns of the table. */
const HEAD = `${'fault'.padEnd(14)} ${['acked', 'lost', 'twice', 'twice in', 'longest', '503', '502', 'no', 'take-'].map((text) => text.padStart(9)).join(' ')}
${' '.repeat(14)} ${['', '', 'in copies', 'streams', 'gap, s', '', '', 'answer', 'over, s'].map((text) => text.padStart(9)).join(' ')}`

const home = mkdtempSync(join(tmpdir(), 'shoptrail-cluster-'))
const logs = join(home, 'logs')
mkdirSync(logs)
const cluster = await startNatsCluster()
const account = cluster.takeAccount()
const ENV = {
  ...clusterEnv(account),
  ADDRESS_EVENTS_PER_SECOND: '1000000',
  ADDRESS_EVENTS_BURST: '1000000',
  ADDRESS_BYTES_PER_SECOND: '1000000000',
  ADDRESS_BYTES_BURST: '1000000000',
  DRAIN_MS: `${DRAIN_MS}`,
}
const FOLLOWER = 'follower'
const NAMES = ['one', 'two'] as const
const folderOf = (name: string) => join(home, name)
const ports = [await findPort(), await findPort()]
console.log(
  `seed ${seed}, 3 nodes, 2 gateways, 1 follower, ${values.devices} devices of 4 customers`,
)

/** Every id that was acknowledged since the start. */
const acknowledged = new Set<string>()
const rows: Row[] = []
const streams = await openStreams(account)
const replicas = await openReplicas(cluster, account, streams.partitions)
// A gateway without customers is not ready.
const customers = await addCustomers()
const gateways: OwnGateway[] = []
for (const index of ports.keys()) gateways.push(await startGateway(index))
let follower: OwnFollower = startFollower()
const nc = await connect({
  servers: [...account.servers],
  user: account.user,
  pass: account.password,
  maxReconnectAttempts: -1,
})
const ask = createAsk(nc)
const balancer = await startBalancer(gateways.map(({ url }) => url))
await balancer.untilReady(0)
await balancer.untilReady(1)

/** Causes a fault and mends it. Returns seconds until every partition was answered for again, if it matters. */
const FAULTS: Readonly<Record<string, (load: Load) => Promise<number | undefined>>> = {
  async 'node-follower'(load) {
    const { followers } = await streams.nodes(random.below(streams.partitions))
    return killNodes([cluster.nodeOf(random.pick(followers))], load)
  },
  async leader(load) {
    return killNodes([await leaderOf(random.below(streams.partitions))], load)
  },
  async 'two-nodes'(load) {
    const leader = await leaderOf(random.below(streams.partitions))
    return killNodes([leader, (leader + 1 + random.below(2)) % 3], load)
  },
  'all-nodes': (load) => killNodes([0, 1, 2], load),
  async gateway(load) {
    const index = random.below(2)
    await gateways[index]?.end('SIGKILL')
    const seconds = await timeTakeOver()
    await load.untilMore(SOME_EVENTS)
    await restartGateway(index)
    return seconds
  },
  async follower(load) {
    await follower.end('SIGKILL')
    const seconds = await timeTakeOver()
    await load.untilMore(SOME_EVENTS)
    follower = startFollower()
    return seconds
  },
  async rolling(load) {
    for (let node = 0; node < cluster.size; node++) {
      await cluster.stop(node)
      await load.untilMore(SOME_EVENTS)
      await cluster.start(node)
      await streams.untilCurrent()
    }
    for (const index of ports.keys()) {
      await gateways[index]?.end('SIGTERM')
      await load.untilMore(SOME_EVENTS)
      await restartGateway(index)
    }
    await follower.end('SIGTERM')
    await load.untilMore(SOME_EVENTS)
    follower = startFollower()
    return undefined
  },
}

const chosen = values.only?.split(',') ?? Object.keys(FAULTS)
const unknown = chosen.find((name) => !Object.hasOwn(FAULTS, name))
if (unknown) throw new Error(`--only ${unknown}: expected some of ${Object.keys(FAULTS)}`)
const until = Date.now() + Number(values.minutes) * 60_000
try {
  for (let round = 0; round < Number(values.rounds) || Date.now() < until; round++)
    for (const name of chosen) await runFault(name)
} catch (error) {
  process.exitCode = 1
  console.error(error)
}
print()
await balancer.close()
for (const gateway of gateways) await gateway.end('SIGTERM')
await follower.end('SIGTERM')
await streams.close()
await replicas.close()
await nc.close()
await cluster.end()
if (process.exitCode) console.log(`The logs and copies are kept in ${home}`)
else rmSync(home, { recursive: true, force: true })

/** One customer in each partition. */
async function addCustomers() {
  const added: { id: string; trackingKey: string }[] = []
  for (let partition = 0; partition < streams.partitions; partition++) {
    let number = 0
    while (partitionOf(`shop-${number}`, streams.partitions) !== partition) number++
    const trackingKey = `TRACKING${partition}`
    const id = `shop-${number}`
    await runCommand(
      folderOf('one'),
      ['customer', 'add', '--id', id, '--tracking-key', trackingKey, '--origin', 'loopback'],
      ENV,
    )
    added.push({ id, trackingKey })
  }
  return added
}

function startGateway(index: number): Promise<OwnGateway> {
  const name = NAMES[index] as string
  return startOwnGateway(folderOf(name), { ...ENV, PORT: `${ports[index]}` }, join(logs, name))
}

async function restartGateway(index: number): Promise<void> {
  gateways[index] = await startGateway(index)
  await balancer.untilReady(index)
}

function startFollower(): OwnFollower {
  return startOwnFollower(folderOf(FOLLOWER), ENV, join(logs, FOLLOWER))
}

async function leaderOf(partition: number): Promise<number> {
  return cluster.nodeOf((await streams.nodes(partition)).leader)
}

/** Kills nodes, waits until the load has gone on or was refused, and starts them again. */
async function killNodes(nodes: readonly number[], load: Load): Promise<undefined> {
  await Promise.all(nodes.map((node) => cluster.kill(node)))
  const hasMajority = nodes.length * 2 < cluster.size
  await (hasMajority ? load.untilMore(SOME_EVENTS) : load.untilRefused(SOME_REFUSED))
  await Promise.all(nodes.map((node) => cluster.start(node)))
}

/** Seconds until every partition is answered for. */
async function timeTakeOver(): Promise<number> {
  const from = performance.now()
  for (let partition = 0; partition < streams.partitions; ) {
    try {
      await ask(partition, 'reportsLag', [], 1_000)
      partition++
    } catch {
      // No follower holds it. The next one may take it.
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
  return (performance.now() - from) / 1_000
}

async function runFault(fault: string): Promise<void> {
  await timeTakeOver()
  const load = startLoad({
    url: balancer.url,
    customers,
    devices: Number(values.devices),
    random,
  })
  await load.untilMore(SOME_EVENTS)
  const takeOver = await FAULTS[fault]?.(load)
  await streams.untilCurrent()
  await load.untilMore(SOME_EVENTS)
  await load.stop()
  for (const id of load.seen.acknowledged.keys()) acknowledged.add(id)
  const difference = await replicas.findDifference(SAME_MS)
  const { lost, twice, twiceInStreams } = await compare()
  const count = (status: number) => load.seen.statuses.get(status) ?? 0
  const [broken, unanswered] = [count(502), count(0)]
  const faults = [
    // A fault of nats-server. Copies are made of any replica, so the others may come from it.
    ...(difference ? [`the nodes differ: ${difference}`] : []),
    ...(lost ? ['events are lost'] : []),
    ...(twice ? ['events are there twice'] : []),
    // Gateways that stop are drained, so a rolling restart must not break a request off.
    ...(fault === 'rolling' && broken + unanswered > 0 ? ['requests have failed'] : []),
    ...load.seen.faults,
  ]
  if (faults.length > 0) process.exitCode = 1
  rows.push({
    ...{ fault, acknowledged: load.seen.acknowledged.size, lost, twice, twiceInStreams },
    gap: load.longestGap(),
    refused: count(503),
    ...{ broken, unanswered },
    takeOver: takeOver ?? Number.NaN,
    note: faults.join('; '),
  })
  console.log(lineOf(rows.at(-1) as Row))
}

/** Compares everything that was acknowledged since the start with the streams and the copies of all followers. */
async function compare() {
  const events = await streams.read()
  const times = new Map<string, number>()
  for (const { id } of events) times.set(id, (times.get(id) ?? 0) + 1)
  let lost = [...acknowledged].filter((id) => !times.has(id)).length
  let twice = 0
  for (const name of [...NAMES, FOLLOWER]) {
    const { missing, extra } = await compareCopies(folderOf(name), events, streams.partitions)
    lost += missing
    twice += extra
  }
  const twiceInStreams = [...times.values()].filter((count) => count > 1).length
  return { lost, twice, twiceInStreams }
}

function print(): void {
  const sum = (read: (row: Row) => number) => rows.reduce((total, row) => total + read(row), 0)
  console.log(`\n${HEAD}`)
  for (const row of rows) console.log(lineOf(row))
  console.log(
    `\nacknowledged ${acknowledged.size}, lost ${sum(({ lost }) => lost)}, twice after readers ${sum(({ twice }) => twice)}, seed ${seed}`,
  )
}

function lineOf(row: Row): string {
  const seconds = (value: number) => (Number.isNaN(value) ? '' : value.toFixed(1))
  const cells = [
    ...[row.acknowledged, row.lost, row.twice, row.twiceInStreams, seconds(row.gap)],
    ...[row.refused, row.broken, row.unanswered, seconds(row.takeOver), row.note],
  ]
  return `${row.fault.padEnd(14)} ${cells.map((cell) => `${cell}`.padStart(9)).join(' ')}`
}
