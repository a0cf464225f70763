// The speed of the gateway, compared in the same run with a bare node:http server that reads the same bodies, discards
// them and answers 204, and that answers GET with the same bytes and headers as the gateway. 64 connections, bodies of
// 636 bytes; all servers alternate in slices of half a second. CPU time is that of the server's process, all threads; the
// load generator is a process of its own (e2e/benchLoad.ts). The best of several slices counts: it is nearest to a quiet
// machine.
//
//   node e2e/run.mjs e2e/bench/gateway.ts --rounds 8 --only event,batch      15 seconds
//   node e2e/run.mjs e2e/bench/gateway.ts --against ../before/dist           another build too, interleaved
//
// --only: event, batch, script (one slice each a round), p99, flood, memory, start, follower. `memory` needs another one.
import { rmSync } from 'node:fs'
import { get } from 'node:http'
import { parseArgs } from 'node:util'
import { measureFollower } from '../benchFollower.ts'
import type { Job, Load } from '../benchLoad.ts'
import { line, median } from '../benchPages.ts'
import {
  type Answer,
  BATCH,
  bareJob,
  batch,
  CONNECTIONS,
  onCore,
  oneEvent,
  type Server,
  startGenerator,
  startServer,
  toJob,
} from '../benchServers.ts'
import { makeFolder, UNLIMITED } from '../gateway.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '16' },
    /** Parts of the table, separated by commas. Default: all. */
    only: { type: 'string' },
    /** Folder of another build, which is measured in turn with this one. */
    against: { type: 'string' },
  },
})
const ROUNDS = Number(values.rounds)
const SLICE_MS = 500
/** Events a second that are sent while the time of an answer is measured. */
const OFFERED = 4_000
const OFFER_MS = 2_000
const OFFER_ROUNDS = 5
const STARTS = 5
/** Events that the reports follow. */
const FOLLOWED = 100_000

/** A job for each slice of a round, and the job of the bare server that it is compared with. */
type Way = {
  readonly name: string
  readonly server: Server
  readonly job: Job
  readonly limit?: string
  /** Events in a request. */
  readonly events?: number
  readonly target?: string
  readonly status: number
}
type Slice = {
  readonly load: Load
  /** Of an answer. */
  readonly cpuMicros: number
  readonly mainMicros: number
}

const isWanted = (part: string): boolean => !values.only || values.only.split(',').includes(part)

const folders: string[] = []
const builds: readonly (string | undefined)[] = values.against
  ? [undefined, values.against]
  : [undefined]
const nameOf = (build: string | undefined) => (build ? 'before: ' : '')

let generator = startGenerator()
const bare = await startServer('', ['bare'])
const gateways = await Promise.all(builds.map((build) => startGateway(build)))
const atRest = await Promise.all(gateways.map(async (gateway) => (await gateway.usage()).rss))
const underLoad = atRest.map(() => 0)

const slices = new Map<string, Slice[]>()
const ways = await listWays()
for (let round = 0; round < ROUNDS; round++)
  for (const way of ways) {
    slices.set(way.name, [...(slices.get(way.name) ?? []), await measure(way)])
    await watchMemory()
  }
if (ways.length > 0) printWays()

for (const [i, build] of builds.entries()) {
  if (isWanted('p99')) await measureAnswers(build)
  if (isWanted('flood')) {
    // Three times the connections, each with a request after the other.
    const job = {
      ...oneEvent(gateways[i] as Server, SLICE_MS),
      connections: CONNECTIONS * 3,
      forMs: 5_000,
    }
    const { statuses } = await generator.run(job)
    await watchMemory()
    const counts = statuses.map((pair) => pair.join(': '))
    console.log(line(`${nameOf(build)}three times the connections`, ...counts))
  }
  if (isWanted('memory'))
    for (const [name, rss, target] of [
      ['memory at rest, MB', atRest[i], '75 / 70'],
      ['memory under load, MB', underLoad[i], '140 / 120'],
    ] as const)
      console.log(line(nameOf(build) + name, ((rss ?? 0) / 2 ** 20).toFixed(0), target))
}
for (const server of [bare, ...gateways]) server.end()

if (isWanted('start')) {
  const starts = builds.map((): number[] => [])
  for (let round = 0; round < STARTS; round++)
    for (const [i, build] of builds.entries()) {
      const again = await startGateway(build)
      starts[i]?.push(again.startedMs)
      again.end()
    }
  for (const [i, build] of builds.entries()) {
    const best = Math.min(...(starts[i] ?? [])).toFixed(0)
    console.log(line(`${nameOf(build)}start to first 200, ms, best`, best, '300 / 250'))
  }
}
generator.end()
if (isWanted('follower')) measureFollower(FOLLOWED)
for (const folder of folders) rmSync(folder, { recursive: true, force: true })

/** The slices of a round: those of the bare server between those of the gateways. */
async function listWays(): Promise<Way[]> {
  const found: Way[] = []
  if (isWanted('event') || isWanted('batch')) {
    const job = bareJob(bare, SLICE_MS)
    found.push({ name: 'bare, POST', server: bare, job, status: 204 })
  }
  for (const server of gateways) {
    const shared = { server, limit: 'bare, POST', status: 200 }
    if (isWanted('event')) {
      const name = `${server.name}POST /t/r`
      found.push({ ...shared, name, job: oneEvent(server, SLICE_MS), target: '0.37 / 0.45' })
    }
    if (isWanted('batch')) {
      const name = `${server.name}POST /t/batch of ${BATCH}, an event`
      found.push({ ...shared, name, job: batch(server, SLICE_MS), events: BATCH, target: '2 / 3' })
    }
  }
  if (!isWanted('script')) return found

  for (const [form, names] of [
    ['br', {}],
    ['304', { 'if-none-match': '' }],
  ] as const) {
    const path = `/${form}`
    const headers: Record<string, string> = { 'accept-encoding': 'br', ...names }
    const scripts = await Promise.all(gateways.map((server) => readScript(server, headers)))
    const [answer] = scripts as [Answer, ...Answer[]]
    await bare.give({ [path]: answer })
    const limit = `bare, GET, ${form}`
    const { status } = answer
    found.push({
      name: limit,
      server: bare,
      job: toJob(bare, 'GET', path, SLICE_MS, headers),
      status,
    })
    for (const server of gateways) {
      const [key] = server.trackingKeys
      const job = toJob(server, 'GET', `/t/j/${key}`, SLICE_MS, await withTag(server, headers))
      const name = `${server.name}GET /t/j, ${form}`
      found.push({ name, server, job, limit, target: '0.9 / 1.0', status })
    }
  }
  return found
}

async function withTag(server: Server, headers: Record<string, string>) {
  if (!('if-none-match' in headers)) return headers
  const { 'if-none-match': _, ...without } = headers
  const { etag = '' } = (await readScript(server, without)).headers
  return { ...headers, 'if-none-match': etag }
}

/** The script's answer as the bare server must give it. */
async function readScript(server: Server, given: Record<string, string>): Promise<Answer> {
  const headers = await withTag(server, given)
  return new Promise((resolve, reject) => {
    get(`${server.url}/t/j/${server.trackingKeys[0]}`, { headers }, async (answer) => {
      const chunks: Buffer[] = []
      for await (const chunk of answer) chunks.push(chunk)
      // node adds these to the answers of the bare server as well.
      const { date: _, connection: __, 'keep-alive': ___, ...rest } = answer.headers
      resolve({
        status: answer.statusCode ?? 0,
        headers: rest as Record<string, string>,
        body: Buffer.concat(chunks).toString('base64'),
      })
    }).on('error', reject)
  })
}

async function measure({ name, server, job, status }: Way): Promise<Slice> {
  const before = await server.usage()
  const load = await generator.run(job)
  const after = await server.usage()
  const { answers, statuses } = load
  const [first] = statuses
  if (statuses.length !== 1 || first?.[0] !== status)
    throw new Error(`${name}: expected ${status}, received ${JSON.stringify(statuses)}`)
  return {
    load,
    cpuMicros: (after.cpuMicros - before.cpuMicros) / answers,
    mainMicros: (after.mainMicros - before.mainMicros) / answers,
  }
}

async function watchMemory(): Promise<void> {
  for (const [i, gateway] of gateways.entries())
    underLoad[i] = Math.max(underLoad[i] ?? 0, (await gateway.usage()).rss)
}

function printWays(): void {
  const best = (name: string, read: (slice: Slice) => number) =>
    Math.min(...(slices.get(name) ?? []).map(read))
  console.log(
    line(
      `${CONNECTIONS} connections, 636 bytes`,
      'CPU µs',
      'main thread',
      'of bare',
      'must / should',
      'a second',
      'p99 ms',
      'generator µs',
    ),
  )
  for (const { name, limit, events = 1, target = '' } of ways) {
    const cpu = best(name, ({ cpuMicros }) => cpuMicros) / events
    const main = best(name, ({ mainMicros }) => mainMicros) / events
    const ofBare = limit ? best(limit, ({ cpuMicros }) => cpuMicros) / cpu : 1
    const all = slices.get(name) ?? []
    const rate = Math.max(...all.map(({ load }) => load.answers / load.seconds)) * events
    const sender = best(name, ({ load }) => load.cpuMicros / load.answers) / events
    console.log(
      line(
        name,
        cpu.toFixed(1),
        main.toFixed(1),
        ofBare.toFixed(2),
        target,
        rate.toFixed(0),
        median(all.map(({ load }) => load.p99)).toFixed(1),
        sender.toFixed(1),
      ),
    )
  }
}

/** The time of an answer at a fixed rate: the server on one core, the generator on another. */
async function measureAnswers(build: string | undefined): Promise<void> {
  generator.end()
  generator = startGenerator(onCore(1))
  const server = await startGateway(build, onCore(0))
  const loads: Load[] = []
  for (let round = 0; round <= OFFER_ROUNDS; round++)
    loads.push(
      await generator.run({ ...oneEvent(server, SLICE_MS), offered: OFFERED, forMs: OFFER_MS }),
    )
  server.end()
  generator.end()
  generator = startGenerator()
  // The first one warms up.
  const measured = loads.slice(1)
  const p99 = measured.map((load) => load.p99)
  const reached = measured.map(({ answers, seconds }) => answers / seconds)
  console.log(
    line(
      `${nameOf(build)}p99 at ${OFFERED} a second, ms`,
      `median ${median(p99).toFixed(1)}`,
      `best ${Math.min(...p99).toFixed(1)}`,
      '20 / 8',
      `p50 ${median(measured.map(({ p50 }) => p50)).toFixed(1)}`,
      `reached ${Math.max(...reached).toFixed(0)}`,
    ),
  )
}

/** Starts a gateway with limits that do not refuse the flood of one address. */
function startGateway(build: string | undefined, command: string[] = []): Promise<Server> {
  const folder = makeFolder('bench-gateway')
  folders.push(folder)
  const args = ['gateway', folder, JSON.stringify(UNLIMITED), ...(build ? [build] : [])]
  return startServer(nameOf(build), args, command)
}
