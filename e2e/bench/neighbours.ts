// How long a customer waits for its answers while another customer's key is flooded: 8 connections that send as
// fast as they are answered, from one address, with bodies of several sizes. Once with the default limits, once
// with limits that stop nothing, which shows the turns in front of the log alone.
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
const ROUNDS = 3
const SLICE_MS = 1_500
/** The neighbour's pause between an answer and its next event, ms. */
const PAUSE_MS = 10
/** A flood begins so long before the neighbour is measured, ms: bursts are used up. */
const HEAD_START_MS = 1_500

const { values } = parseArgs({
  options: {
    /** A process that floods what its parent tells it. Default: the whole measurement. */
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
    console.log(line(`\n${title}`, 'median ms', 'of quiet', 'p95 ms', 'answers/s'))
    for (const [name, [path, body]] of Object.entries(floods)) {
      const quiet: number[] = []
      const loud: number[] = []
      let answered = 0
      for (let round = 0; round < ROUNDS; round++) {
        quiet.push(...(await neighbour(server)))
        const [key] = server.trackingKeys
        const end = startFlood({
          url: server.url,
          path: `${path}?k=${key}`,
          body: JSON.stringify(body),
        })
        await sleep(HEAD_START_MS)
        loud.push(...(await neighbour(server)))
        answered += await end()
        await sleep(500)
      }
      const was = median(quiet)
      if (name === Object.keys(floods)[0]) console.log(row('quiet', quiet, was, 0))
      console.log(row(name, loud, was, answered / (ROUNDS * (SLICE_MS + HEAD_START_MS))))
    }
    server.end()
    rmSync(folder, { recursive: true, force: true })
  }
}

function row(name: string, times: number[], quiet: number, rate: number): string {
  const p95 = times.sort((a, b) => a - b)[Math.floor(times.length * 0.95)] ?? Number.NaN
  const of = (median(times) / quiet).toFixed(1)
  return line(name, median(times).toFixed(1), of, p95.toFixed(1), (rate * 1000).toFixed(0))
}

/** One event after the other; the times of the answers, ms. */
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

/** Floods in a process of its own; answers what ends it, which tells how many answers it had. */
function startFlood(target: Target): () => Promise<number> {
  const runner = fileURLToPath(new URL('../run.mjs', import.meta.url))
  const args = [runner, fileURLToPath(import.meta.url), '--flood']
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  child.send(target)
  return () =>
    new Promise((resolve) => {
      child.once('message', (answered) => resolve(Number(answered)))
      child.send('end')
    })
}

async function flood(target: Target): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  let answered = 0
  process.on('message', () => process.send?.(answered, () => process.exit()))
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      for (;;) {
        // A connection that was closed after a refusal is opened again.
        await post(target, agent, '127.0.0.2').catch(() => {})
        answered++
      }
    }),
  )
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
