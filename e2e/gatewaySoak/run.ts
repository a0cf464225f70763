// A long run of the gateway alone: two gateways over one data folder, on a disk of its own, or with --engine nats on a
// cluster. Devices of three customers send one by one and in batches, and repeat what was not acknowledged. Meanwhile
// gateways are killed and restarted, and destinations fail or are dead. With SQLite the disk is full and backups are
// made; on a cluster nodes and a process that only follows are killed. At the end everything works again, and what was
// acknowledged is compared with the log and with what each destination has received.
//
//   node e2e/run.mjs e2e/gatewaySoak/run.ts --minutes 10 --seed 7
//   node e2e/run.mjs e2e/gatewaySoak/run.ts --engine nats --suspend
//
// The same seed makes the same choices, but not the same timing. The full disk needs the right to mount a file system,
// the cluster needs nats-server.
import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { createRandom } from '../random.ts'
import { openClusterStage } from './clusterStage.ts'
import { type OwnGateway, runCommand, startOwnGateway } from './gateways.ts'
import { countLog } from './log.ts'
import { startReceiver } from './receiver.ts'
import { runSender, type Seen } from './senders.ts'
import { openSqliteStage } from './sqliteStage.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    /** Default: from the clock. */
    seed: { type: 'string' },
    /** Devices of each customer. */
    devices: { type: 'string', default: '8' },
    /** sqlite or nats. */
    engine: { type: 'string', default: 'sqlite' },
    /**
     * Whether nodes of a cluster are suspended too. Those of nats-server 2.9.10 may differ for ever after that, which is
     * found, and is no fault of a gateway.
     */
    suspend: { type: 'boolean', default: false },
  },
})
if (!['sqlite', 'nats'].includes(values.engine))
  throw new Error(`--engine ${values.engine}: expected sqlite or nats`)
const seed = Number(values.seed ?? Date.now() % 100_000)
const minutes = Number(values.minutes)
/** Mean time between two requests of a device, ms. */
const PAUSE_MS = 60
/** How long everything may take to arrive after the last fault, ms. */
const PATIENCE_MS = 180_000
/** Time between two lines about what has not ended in time, ms. */
const TELL_MS = 15_000
const CAMPAIGN = {
  type: 'email',
  mode: 'regular',
  sender: { name: 'Shop', sender: 'news@shop.example', reply_to: 'help@shop.example' },
  audience: { audience_type: 'all', smart_sending: true },
  subject: { name: 'Soak', subject_line: 'Soak', preview_text: 'Soak' },
  content: { html: '<p>Hello</p>' },
  scheduling: { send_at: '2027-03-01 09:30', use_optimal_time: 1, optimize_for: 'opening' },
  tracking: { utm_campaign: 'soak', utm_medium: 'email', utm_source: 'news' },
}
/** Limits that do not refuse the many devices of one address. */
const ENV = {
  ADDRESS_EVENTS_PER_SECOND: '1000000',
  ADDRESS_EVENTS_BURST: '1000000',
  ADDRESS_BYTES_PER_SECOND: '1000000000',
  ADDRESS_BYTES_BURST: '1000000000',
  DRAIN_MS: '500',
  LOG_LEVEL: 'info',
}

const random = createRandom(seed)
const home = mkdtempSync(join(tmpdir(), 'shoptrail-soak-'))
const serviceDir = join(home, 'service')
const seen: Seen = { acknowledged: new Map(), statuses: new Map(), faults: [] }
const stage = await (values.engine === 'nats' ? openClusterStage : openSqliteStage)({
  home,
  env: ENV,
  random,
  seed,
  suspends: values.suspend,
  seen,
})
console.log(
  `seed ${seed}, ${minutes} minutes, ${values.engine}, ${values.devices} devices of each of 3 customers`,
)

const counts = { kills: 0, restarts: 0, outages: 0, reports: 0, scripts: 0 }
const shop = await addCustomer(stage.command, 'shop')
const customers = [
  shop,
  await addCustomer(stage.command, 'second'),
  await addCustomer(stage.command, 'third'),
]
const service = await addCustomer((args, env) => runCommand(serviceDir, args, env), 'theservice')

const secret = `whsec_${randomBytes(32).toString('base64')}`
const receiver = await startReceiver(secret, createRandom(seed + 1))
const dead = await startReceiver(secret, createRandom(seed + 2), true)
dead.heal()
let serviceGateway = await startOwnGateway(serviceDir, { ...ENV, PORT: '0' })
const servicePort = new URL(serviceGateway.url).port
await addDestination('shop', 'webhook', { url: receiver.url }, { FORWARD_SECRET: secret })
await addDestination('shop', 'file', {})
await addDestination('second', 'webhook', { url: dead.url }, { FORWARD_SECRET: secret })
const { customerId, trackingKey, restKey } = service
await addDestination(
  'third',
  'service',
  { baseUrl: serviceGateway.url, customerId, trackingKey },
  { FORWARD_REST_KEY: restKey },
)

const gateways: OwnGateway[] = [await stage.start(0), await stage.start(1)]
const peaks = { rss: 0, lag: 0, gap: 0 }
/** When each customer had an event acknowledged last, ms of the monotonic clock. */
const acknowledgedAt = new Map<string, number>()
const until = Date.now() + minutes * 60_000
const isOver = () => Date.now() >= until
/** Faults end a little before the senders do. */
const isCalm = () => Date.now() >= until - 5_000
const senders = customers.flatMap((customer, c) =>
  Array.from({ length: Number(values.devices) }, (_, d) =>
    runSender({
      customer: customer.customerId,
      trackingKey: customer.trackingKey,
      gateways: () => gateways.map(({ url }) => url),
      random: createRandom(seed + 100 * (c + 1) + d),
      seen,
      pauseMs: PAUSE_MS,
      isOver,
      onAcknowledged() {
        const now = performance.now()
        peaks.gap = Math.max(peaks.gap, now - (acknowledgedAt.get(customer.customerId) ?? now))
        acknowledgedAt.set(customer.customerId, now)
      },
    }),
  ),
)
const running = {
  senders: Promise.all(senders),
  'kills of gateways': disturbGateways(),
  'other faults': disturbOthers(),
  readers: readAlong(),
  'faults of the engine': Promise.all(stage.disturb(isCalm)),
}
const open = new Set(Object.keys(running))
const telling = setInterval(() => {
  if (Date.now() > until + TELL_MS) console.error(`Still running: ${[...open].join(', ')}`)
}, TELL_MS)
await Promise.all(Object.entries(running).map(([name, work]) => work.then(() => open.delete(name))))
clearInterval(telling)

console.error('The faults are over. Waiting until everything has arrived')
await stage.mend()
receiver.heal()
await receiver.up()
await dead.up()
await arrive()
await report()
for (const gateway of [...gateways, serviceGateway]) await gateway.end('SIGTERM')
await receiver.down()
await dead.down()
await stage.end()
rmSync(home, { recursive: true, force: true })

async function addCustomer(command: typeof stage.command, id: string) {
  const key = `KEY${id.toUpperCase()}`.slice(0, 12)
  const restKey = `REST${id.toUpperCase()}KEY0123456789`
  const args = ['customer', 'add', '--id', id, '--tracking-key', key, '--origin', 'loopback']
  await command(args, { REST_KEY: restKey })
  return { customerId: id, trackingKey: key, restKey }
}

/** @param secrets By the name of their variable. */
function addDestination(
  customer: string,
  kind: string,
  settings: Readonly<Record<string, string>>,
  secrets?: Readonly<Record<string, string>>,
): Promise<string> {
  const sets = Object.entries(settings).flatMap((pair) => ['--set', pair.join('=')])
  return stage.command(['forward', 'add', customer, '--kind', kind, ...sets], secrets)
}

/** Kills and restarts gateways, one at a time and sometimes both. One that starts on a full disk waits. */
async function disturbGateways(): Promise<void> {
  while (!isCalm()) {
    await sleep(2_000 + random.below(6_000))
    const ended = random.chance(0.15) ? [0, 1] : [random.below(2)]
    const signal = random.chance(0.6) ? 'SIGKILL' : 'SIGTERM'
    if (signal === 'SIGKILL') counts.kills += ended.length
    else counts.restarts += ended.length
    await Promise.all(ended.map((i) => gateways[i]?.end(signal)))
    for (const i of ended) gateways[i] = await stage.start(i)
  }
}

/** Outages of the receiver, and kills of the gateway that plays the service. */
async function disturbOthers(): Promise<void> {
  while (!isCalm()) {
    await sleep(5_000 + random.below(15_000))
    counts.outages++
    if (values.engine === 'nats' && random.chance(0.3)) {
      receiver.hang(true)
      await sleep(1_000 + random.below(20_000))
      receiver.hang(false)
    } else if (random.chance(0.5)) {
      await receiver.down()
      await sleep(1_000 + random.below(20_000))
      await receiver.up()
    } else {
      await serviceGateway.end('SIGKILL')
      await sleep(random.below(5_000))
      serviceGateway = await startOwnGateway(serviceDir, { ...ENV, PORT: servicePort })
    }
  }
}

/** Reads reports, scripts and live views meanwhile, as operators and pages do. */
async function readAlong(): Promise<void> {
  const campaign = JSON.stringify(CAMPAIGN)
  let hasCampaign = false
  while (!isCalm()) {
    const { url, metricsUrl } = random.pick(gateways)
    try {
      const rest = `k=${shop.restKey}&u=${shop.customerId}`
      const type = { 'content-type': 'application/json' }
      if (!hasCampaign) {
        const create = { method: 'POST', body: campaign, headers: type }
        const created = await fetch(`${url}/api/v1/campaigns/create?${rest}`, create)
        hasCampaign = created.ok
        if (!created.ok && created.status !== 503) seen.faults.push(`create ${created.status}`)
      }
      const list = await fetch(`${url}/api/v1/get-latest-campaign?${rest}`)
      const [latest] = list.ok ? await list.json() : []
      if (latest) {
        const answer = await fetch(`${url}/api/v1/campaigns/${latest.id}/email/get-report?${rest}`)
        if (answer.ok) counts.reports++
        else if (answer.status !== 503) seen.faults.push(`report ${answer.status}`)
      }
      const script = await fetch(`${url}/t/j/${shop.trackingKey}`)
      if (script.ok) counts.scripts++
      else if (script.status !== 503) seen.faults.push(`script ${script.status}`)
      const metrics = await (await fetch(metricsUrl)).text()
      const read = (name: string) =>
        Math.max(
          0,
          ...[...metrics.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, 'gm'))].map((found) =>
            Number(found[1]),
          ),
        )
      peaks.rss = Math.max(peaks.rss, read('process_resident_memory_bytes'))
      peaks.lag = Math.max(peaks.lag, read('forward_lag_events'))
    } catch (error) {
      // The gateway was just killed.
      if (!/fetch failed|terminated|ECONN|socket/i.test(`${error}`)) throw error
    }
    await sleep(300)
  }
}

/** Waits until every destination has received everything. */
async function arrive(): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS
  for (;;) {
    const inService = await countLog(serviceDir)
    const isThere =
      idsOf('shop').every((id) => receiver.times.has(id)) &&
      idsOf('second').every((id) => dead.times.has(id)) &&
      idsOf('third').every((id) => inService.has(id))
    if (isThere || Date.now() > deadline) return
    await sleep(1_000)
  }
}

function idsOf(customer: string): string[] {
  return [...seen.acknowledged].flatMap(([id, one]) => (one.customer === customer ? [id] : []))
}

/** The ids in the files of the destination `file`, how often each. */
function readFiles(): Map<string, number> {
  const times = new Map<string, number>()
  const folders = stage.folders.map((folder) => join(folder, 'forward')).filter(existsSync)
  const files = folders.flatMap((folder) =>
    (readdirSync(folder, { recursive: true }) as string[]).map((path) => join(folder, path)),
  )
  for (const path of files) {
    if (!/\.ndjson/.test(path)) continue
    const text = gunzipSync(readFileSync(path), { finishFlush: 2 }).toString()
    for (const row of text.split('\n').filter(Boolean)) {
      const { id } = JSON.parse(row)
      times.set(id, (times.get(id) ?? 0) + 1)
    }
  }
  return times
}

async function report(): Promise<void> {
  const log = await stage.countLog()
  const files = readFiles()
  const inService = await countLog(serviceDir)
  const acknowledged = [...seen.acknowledged.keys()]
  const missing = (ids: readonly string[], where: ReadonlyMap<string, number>) =>
    ids.filter((id) => !where.has(id)).length
  const twice = (where: ReadonlyMap<string, number>) =>
    [...where.values()].filter((n) => n > 1).length
  const bad = {
    'acknowledged, not in the log': missing(acknowledged, log),
    'in the log twice': twice(log),
    ...(await stage.countFaults()),
    'not at the webhook': missing(idsOf('shop'), receiver.times),
    'not in the files': missing(idsOf('shop'), files),
    'not at the destination that was dead': missing(idsOf('second'), dead.times),
    'not at the service': missing(idsOf('third'), inService),
    'at the service twice': twice(inService),
    'faults of receivers': receiver.faults.length + dead.faults.length,
    'answers that no sender should get': seen.faults.length,
  }
  // A follower that takes a partition over may write again what the one before has written.
  const repeated = { 'in the files twice': twice(files) }
  if (values.engine === 'sqlite') Object.assign(bad, repeated)
  const figures = {
    ...counts,
    ...stage.counts,
    ...repeated,
    answers: [...seen.statuses].map((pair) => pair.join(': ')).join(', '),
    acknowledged: acknowledged.length,
    'in the log': log.size,
    'at the webhook more than once': twice(receiver.times),
    'longest gap of a customer, s': (peaks.gap / 1_000).toFixed(1),
    'largest lag, events': peaks.lag,
    'largest memory, MB': Math.round(peaks.rss / 1e6),
    ...bad,
  }
  for (const [name, figure] of Object.entries(figures)) console.log(`${name.padEnd(42)} ${figure}`)
  for (const text of [...receiver.faults, ...dead.faults, ...seen.faults]) console.log(`  ${text}`)
  if (Object.values(bad).some((count) => count > 0)) process.exitCode = 1
}
