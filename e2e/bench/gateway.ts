// The speed of the gateway, compared in the same run with a bare node:http server that reads a body, discards it and
// answers 204. 64 connections, bodies of 636 bytes; the two alternate in slices of a second. CPU time is that of the
// server's process, all threads. The best of several slices counts: it is nearest to a quiet machine.
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { Agent, type IncomingHttpHeaders, request } from 'node:http'
import { fileURLToPath } from 'node:url'
import { line, median } from '../benchPages.ts'
import { makeFolder, UNLIMITED } from '../gateway.ts'

const CONNECTIONS = 64
const ROUNDS = 8
const SLICE_MS = 1_000
const BATCH = 20
/** Events a second that are sent while the time of an answer is measured. */
const OFFERED = 4_000

/** The messages of a server: when it listens, and as an answer (benchServer.mjs). */
type Listening = { readonly url: string; readonly trackingKeys: readonly string[] }
type Usage = { readonly cpuMicros: number; readonly rss: number }
type Server = Listening & { usage(): Promise<Usage>; end(): void; startedMs: number }
type Asked = {
  readonly path: string
  readonly method: 'GET' | 'POST'
  readonly headers: Record<string, string>
  readonly body?: string
}
type Slice = {
  readonly cpuMicros: number
  readonly rate: number
  readonly p99: number
  readonly statuses: ReadonlyMap<number, number>
}

const folder = makeFolder('bench-gateway')
const bare = await start('bare')
const gateway = await startGateway()
const atRest = (await gateway.usage()).rss

const origin = { origin: 'http://localhost:1' }
const payload = {
  did: randomUUID(),
  event: 'add_to_cart',
  product_id: 12,
  quantity: 1,
  variation: { id: '12-1', sku: 'MUG-BLUE' },
  url: `https://shop.example/p/12?ref=${'x'.repeat(330)}`,
  http_user_agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:153.0) Gecko/20100101 Firefox/153.0',
}
const body = JSON.stringify(payload)
const [trackingKey] = gateway.trackingKeys
const script = `/t/j/${trackingKey}`
const { etag = '' } = (await ask(gateway, get(script))).headers

/** An id as the script makes it: the time, then random digits. */
function makeId(): string {
  const time = Date.now().toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`
}

function get(path: string, headers: Record<string, string> = {}): Asked {
  return { path, method: 'GET', headers: { 'accept-encoding': 'br', ...headers } }
}
const post = (path: string, text: string): Asked => ({
  path,
  method: 'POST',
  headers: { ...origin, 'content-type': 'text/plain', 'content-length': `${text.length}` },
  body: text,
})
const oneEvent = () =>
  post(`/t/r?k=${trackingKey}&id=${makeId()}&at=${Date.now()}&sent=${Date.now()}`, body)
const batch = () => {
  const events = Array.from({ length: BATCH }, () => ({ id: makeId(), at: Date.now(), payload }))
  return post(`/t/batch?k=${trackingKey}`, JSON.stringify({ sent: Date.now(), events }))
}

const ways: Record<string, readonly [Server, () => Asked]> = {
  'bare, POST': [bare, () => post('/', body)],
  'POST /t/r': [gateway, oneEvent],
  [`POST /t/batch of ${BATCH}`]: [gateway, batch],
  'bare, GET': [bare, () => get('/')],
  'GET /t/j': [gateway, () => get(script)],
  'GET /t/j, 304': [gateway, () => get(script, { 'if-none-match': etag })],
}

const slices: Record<string, Slice[]> = {}
let underLoad = 0
for (let round = 0; round < ROUNDS; round++)
  for (const [name, [server, make]] of Object.entries(ways)) {
    slices[name] = [...(slices[name] ?? []), await saturate(server, make)]
    underLoad = Math.max(underLoad, (await gateway.usage()).rss)
  }

const best = (name: string) => Math.min(...(slices[name] ?? []).map(({ cpuMicros }) => cpuMicros))
const p99Of = (name: string) => median((slices[name] ?? []).map(({ p99 }) => p99))
console.log(line('64 connections, 636 bytes', 'CPU µs', 'of bare', 'a second', 'p99 ms'))
for (const [name, all] of Object.entries(slices)) {
  const limit = best(/GET/.test(name) ? 'bare, GET' : 'bare, POST')
  const each = /batch/.test(name) ? BATCH : 1
  console.log(
    line(
      name,
      (best(name) / each).toFixed(1),
      ((limit * each) / best(name)).toFixed(2),
      (Math.max(...all.map(({ rate }) => rate)) * each).toFixed(0),
      p99Of(name).toFixed(1),
    ),
  )
}
console.log('target: POST /t/r 0.30 of bare, an event of a batch 1.5, GET /t/j 0.8')
const times = p99Of('POST /t/r') / p99Of('bare, POST')
console.log(line('p99 at saturation, of bare', times.toFixed(1), 'target 4'))

const offered = await offer(gateway, oneEvent)
console.log(line(`p99 at ${OFFERED} a second offered, ms`, offered.p99.toFixed(1), 'target 20'))
console.log(line('reached a second', offered.rate.toFixed(0)))

// Three times the connections, each with a request after the other.
const flood = await saturate(gateway, oneEvent, CONNECTIONS * 3, 5_000)
underLoad = Math.max(underLoad, (await gateway.usage()).rss)
console.log(
  line('three times the connections', ...[...flood.statuses].map((pair) => pair.join(': '))),
)
console.log(line('memory at rest, under load, MB', mega(atRest), mega(underLoad), 'target 90,160'))

const starts = [gateway.startedMs]
gateway.end()
for (let i = 0; i < 4; i++) {
  const again = await startGateway()
  starts.push(again.startedMs)
  again.end()
}
console.log(line('start to first 200, ms, best', Math.min(...starts).toFixed(0), 'target 500'))
bare.end()
rmSync(folder, { recursive: true, force: true })

/** Starts the gateway with limits that do not refuse the flood of one address. */
function startGateway(): Promise<Server> {
  return start('gateway', folder, JSON.stringify(UNLIMITED))
}

/** Starts a server; `startedMs` is the time from the start of its process to its first 200. */
async function start(...args: readonly string[]): Promise<Server> {
  const program = fileURLToPath(new URL('../benchServer.mjs', import.meta.url))
  const from = performance.now()
  const child = spawn(process.execPath, [program, ...args], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const hear = <T>() => new Promise<T>((resolve) => child.once('message', resolve as () => void))
  const listening = await hear<Listening>()
  await ask(listening, get(args[0] === 'bare' ? '/' : '/readyz'))
  return {
    ...listening,
    startedMs: performance.now() - from,
    usage() {
      child.send('usage')
      return hear<Usage>()
    },
    end: () => child.disconnect(),
  }
}

/** Sends as many requests as the server answers, over a number of connections. */
async function saturate(
  server: Server,
  make: () => Asked,
  connections = CONNECTIONS,
  forMs = SLICE_MS,
): Promise<Slice> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const measured = await measure(server, async (take) => {
    const until = performance.now() + forMs
    await Promise.all(
      Array.from({ length: connections }, async () => {
        while (performance.now() < until) await take(make(), agent)
      }),
    )
  })
  agent.destroy()
  return measured
}

/** Sends OFFERED requests a second, however fast the server answers. */
async function offer(server: Server, make: () => Asked): Promise<Slice> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  const measured = await measure(server, async (take) => {
    const from = performance.now()
    const all: Promise<void>[] = []
    for (let passed = 0; passed < 5 * SLICE_MS; passed = performance.now() - from) {
      while (all.length < (passed * OFFERED) / 1_000) all.push(take(make(), agent))
      await new Promise((resolve) => setImmediate(resolve))
    }
    await Promise.all(all)
  })
  agent.destroy()
  return measured
}

async function measure(
  server: Server,
  run: (take: (asked: Asked, agent: Agent) => Promise<void>) => Promise<void>,
): Promise<Slice> {
  const times: number[] = []
  const statuses = new Map<number, number>()
  const before = await server.usage()
  const from = performance.now()
  await run(async (asked, agent) => {
    const sent = performance.now()
    const { status } = await ask(server, asked, agent)
    times.push(performance.now() - sent)
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
  })
  const seconds = (performance.now() - from) / 1_000
  const { cpuMicros } = await server.usage()
  times.sort((a, b) => a - b)
  return {
    cpuMicros: (cpuMicros - before.cpuMicros) / times.length,
    rate: times.length / seconds,
    p99: times[Math.floor(times.length * 0.99)] ?? Number.NaN,
    statuses,
  }
}

function ask(
  { url }: Listening,
  { path, method, headers, body: text }: Asked,
  agent?: Agent,
): Promise<{ status: number; headers: IncomingHttpHeaders }> {
  return new Promise((resolve, reject) => {
    const sent = request(url + path, { method, headers, ...(agent && { agent }) }, (answer) => {
      answer.resume()
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers }))
    })
    sent.on('error', reject)
    sent.end(text)
  })
}

function mega(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(0)
}
