// The time of a customer's answers while another customer's key is flooded: 8 connections that send as fast as they are
// answered, from one address, with bodies of several sizes. Once with the default limits, and once with limits that
// refuse nothing, which shows the effect of the turns at the log alone.
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { line, median } from '../benchPages.ts'
import { makeFolder, UNLIMITED } from '../gateway.ts'

const CONNECTIONS = 8
/** Connections of the other customer. */
const NEIGHBOURS = 4
const ROUNDS = 10
const SLICE_MS = 500
/** Wait after a flood is paused or resumed, ms. */
const SETTLE_MS = 100
/** Pause of a connection of the other customer between an answer and its next event, ms. */
const PAUSE_MS = 5
/** Time from the start of a flood to the first measurement, ms, so that the bursts are used up. */
const HEAD_START_MS = 1_500

const { values } = parseArgs({
  options: {
    /** Runs only the flood, of the target that the parent process sends. Default: the whole measurement. */
    flood: { type: 'boolean' },
  },
})

type Target = { readonly url: string; readonly path: string; readonly body: string }
type Listening = { readonly url: string; readonly trackingKeys: readonly [string, string] }

const makeEvent = (urlLength: number) => ({
  did: randomUUID(),
  event: 'search',
  search_term: 'mug',
  url: `https://shop.example/?q=${'x'.repeat(urlLength)}`,
  http_user_agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:153.0) Gecko/20100101 Firefox/153.0',
})
const makeBatch = (events: number, urlLength: number) => ({
  sent: Date.now(),
  events: Array.from({ length: events }, () => ({ at: Date.now(), payload: makeEvent(urlLength) })),
})

if (values.flood) process.once('message', flood)
else await measureAll()

async function measureAll(): Promise<void> {
  const floods: Record<string, readonly [string, object]> = {
    'events of 0.6 kB': ['/t/r', makeEvent(330)],
    'events of 8 kB': ['/t/r', makeEvent(7_900)],
    'batches of 120 events, 1 MB': ['/t/batch', makeBatch(120, 7_900)],
    'batches of 500 events, 200 kB': ['/t/batch', makeBatch(500, 100)],
  }
  for (const [title, limits] of [
    ['no limits: turns alone', UNLIMITED],
    ['default limits', undefined],
  ] as const) {
    const folder = makeFolder('neighbours')
    const server = await startServer(folder, limits)
    console.log(
      line(`\n${title}`, 'p50, ms', 'flooded', 'p99, ms', 'flooded', 'of quiet', 'flood/s'),
    )
    for (const [name, [path, body]] of Object.entries(floods)) {
      const quiet: number[] = []
      const loud: number[] = []
      const [key] = server.trackingKeys
      const target = { url: server.url, path: `${path}?k=${key}`, body: JSON.stringify(body) }
      const flood = await startFlood(target)
      await sleep(HEAD_START_MS)
      for (let round = 0; round < ROUNDS; round++) {
        loud.push(...(await neighbours(server)))
        await flood.pause()
        quiet.push(...(await neighbours(server)))
        await flood.resume()
      }
      const rate = await flood.end()
      const columns = [median(quiet), median(loud), p99(quiet), p99(loud)]
      const times = p99(loud) / p99(quiet)
      const figures = [...columns, times].map((figure) => figure.toFixed(1))
      console.log(line(name, ...figures, rate.toFixed(0)))
    }
    server.end()
    rmSync(folder, { recursive: true, force: true })
  }
  console.log('target: p99 with the default limits, flooded at most 2 times quiet')
}

/** The other customer, over several connections. @returns The times of the answers, ms. */
async function neighbours(server: Listening): Promise<number[]> {
  const all = Array.from({ length: NEIGHBOURS }, () => neighbour(server))
  return (await Promise.all(all)).flat()
}

/** Sends one event after the other. @returns The times of the answers, ms. */
async function neighbour({ url, trackingKeys }: Listening): Promise<number[]> {
  const agent = new Agent({ keepAlive: true })
  const body = JSON.stringify(makeEvent(330))
  const times: number[] = []
  for (const until = performance.now() + SLICE_MS; performance.now() < until; ) {
    const from = performance.now()
    const status = await post({ url, path: `/t/r?k=${trackingKeys[1]}`, body }, agent, '127.0.0.1')
    if (status !== 200) throw new Error(`The neighbour was answered ${status}`)
    times.push(performance.now() - from)
    await sleep(PAUSE_MS)
  }
  agent.destroy()
  return times
}

/** Floods from its own process; resolves after its first answer. `end` resolves with its answers per second. */
async function startFlood(target: Target) {
  const runner = fileURLToPath(new URL('../run.mjs', import.meta.url))
  const args = [runner, fileURLToPath(import.meta.url), '--flood']
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const ask = (message: Target | 'pause' | 'resume') =>
    new Promise<number>((resolve) => {
      child.once('message', (answered) => resolve(Number(answered)))
      child.send(message)
    })
  await ask(target)
  let answers = 0
  let loudMs = 0
  let from = performance.now()
  return {
    async pause() {
      loudMs += performance.now() - from
      answers = await ask('pause')
      await sleep(SETTLE_MS)
    },
    async resume() {
      await ask('resume')
      from = performance.now()
      await sleep(SETTLE_MS)
    },
    async end() {
      await this.pause()
      child.disconnect()
      return (answers * 1_000) / loudMs
    },
  }
}

/** The flooding process. It answers each message with the number of answers so far. */
async function flood(target: Target): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  let answered = 0
  let isPaused = false
  const wake: (() => void)[] = []
  process.on('message', (message) => {
    isPaused = message === 'pause'
    for (const go of isPaused ? [] : wake.splice(0)) go()
    process.send?.(answered)
  })
  await post(target, agent, '127.0.0.2')
  process.send?.(0)
  for (let i = 0; i < CONNECTIONS; i++) sendOn()

  async function sendOn(): Promise<void> {
    for (;;) {
      if (isPaused) await new Promise<void>((resolve) => wake.push(resolve))
      // After a refusal the connection may be closed; the next request opens a new one.
      await post(target, agent, '127.0.0.2').catch(() => {})
      answered++
    }
  }
}

/** The time that 99 % of the answers did not exceed. */
function p99(times: readonly number[]): number {
  const sorted = [...times].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN
}

function post({ url, path, body }: Target, agent: Agent, from: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { origin: 'http://localhost:1', 'content-type': 'text/plain' }
    const options = { method: 'POST', headers, agent, localAddress: from }
    const sent = request(url + path, options, (answer) => {
      answer.resume()
      answer.on('end', () => resolve(answer.statusCode ?? 0))
      answer.on('error', reject)
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

async function startServer(folder: string, limits?: object): Promise<Listening & { end(): void }> {
  const program = fileURLToPath(new URL('../benchServer.mjs', import.meta.url))
  const args = [program, 'gateway', folder, JSON.stringify(limits ?? {})]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const listening = await new Promise<Listening>((resolve) =>
    child.once('message', resolve as () => void),
  )
  return { ...listening, end: () => child.disconnect() }
}
