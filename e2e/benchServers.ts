import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { ANY_ID, type Job, type Load } from './benchLoad.ts'

/** Connections of a load. */
export const CONNECTIONS = 64
/** Events of a batch. */
export const BATCH = 20

/** The messages of a server: when it listens, and as an answer (benchServer.mjs). */
export type Listening = {
  readonly url: string
  readonly trackingKeys: readonly string[]
  /** Of the keys, in the same order. */
  readonly customerIds: readonly string[]
}
export type Usage = {
  readonly cpuMicros: number
  readonly mainMicros: number
  readonly rss: number
}
export type Answer = { status: number; headers: Record<string, string>; body: string }
export type Server = Listening & {
  readonly name: string
  usage(): Promise<Usage>
  /** Sets what the bare server answers. */
  give(answers: Record<string, Answer>): Promise<unknown>
  end(): void
  startedMs: number
}
export type Generator = ReturnType<typeof startGenerator>

const body = JSON.stringify({
  did: randomUUID(),
  event: 'add_to_cart',
  product_id: 12,
  quantity: 1,
  variation: { id: '12-1', sku: 'MUG-BLUE' },
  url: `https://shop.example/p/12?ref=${'x'.repeat(330)}`,
  http_user_agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:153.0) Gecko/20100101 Firefox/153.0',
})

const hasTaskset = availableParallelism() > 1 && spawnSync('taskset', ['-V']).status === 0
/** The command that runs a program on one core, if that is possible. */
export const onCore = (core: number): string[] => (hasTaskset ? ['taskset', '-c', `${core}`] : [])

/** Requests with one event, of a customer of the server. The bare server gets the same body. */
export function oneEvent(server: Listening, forMs: number, key = 0): Job {
  const now = Date.now()
  const query = `k=${server.trackingKeys[key]}&id=${ANY_ID}&at=${now}&sent=${now}`
  return toJob(server, 'POST', `/t/r?${query}`, forMs, { 'content-type': 'text/plain' }, body)
}

/** Requests with the body of an event, for the bare server. */
export const bareJob = (server: Listening, forMs: number): Job =>
  toJob(server, 'POST', '/', forMs, { 'content-type': 'text/plain' }, body)

/** Requests with BATCH events. */
export function batch(server: Listening, forMs: number, key = 0): Job {
  const now = Date.now()
  const events = Array.from({ length: BATCH }, () => ({
    id: ANY_ID,
    at: now,
    payload: JSON.parse(body),
  }))
  const text = JSON.stringify({ sent: now, events })
  const path = `/t/batch?k=${server.trackingKeys[key]}`
  return toJob(server, 'POST', path, forMs, { 'content-type': 'text/plain' }, text)
}

export function toJob(
  { url }: Listening,
  method: 'GET' | 'POST',
  path: string,
  forMs: number,
  headers: Record<string, string>,
  text = '',
): Job {
  const all = {
    host: 'localhost',
    connection: 'keep-alive',
    ...(method === 'POST' && {
      origin: 'https://shop.example',
      'content-length': `${Buffer.byteLength(text)}`,
    }),
    ...headers,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return {
    port: Number(new URL(url).port),
    text: `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${text}`,
    connections: CONNECTIONS,
    forMs,
  }
}

/**
 * Starts benchServer.mjs. `startedMs` is the time from the start of its process to its first 200.
 *
 * @param command What runs Node, see `onCore`.
 * @param nodeOptions Options of Node.
 */
export async function startServer(
  name: string,
  args: readonly string[],
  command: readonly string[] = [],
  nodeOptions: readonly string[] = [],
): Promise<Server> {
  const program = fileURLToPath(new URL('benchServer.mjs', import.meta.url))
  const from = performance.now()
  const child = spawnNode(command, [...nodeOptions, program, ...args])
  const ask = <T>(message: string | object) => {
    child.send(message)
    return hear<T>(child)
  }
  const listening = await hear<Listening>(child)
  await fetch(`${listening.url}/readyz`)
  return {
    ...listening,
    name,
    startedMs: performance.now() - from,
    usage: () => ask<Usage>('usage'),
    give: (answers) => ask(answers),
    end: () => child.disconnect(),
  }
}

/** Starts benchLoad.ts in its own process. */
export function startGenerator(command: readonly string[] = []) {
  const runner = fileURLToPath(new URL('run.mjs', import.meta.url))
  const program = fileURLToPath(new URL('benchLoad.ts', import.meta.url))
  const child = spawnNode(command, [runner, program])
  return {
    async run(job: Job): Promise<Load> {
      child.send(job)
      const load = await hear<Load | { readonly fault: string }>(child)
      if ('fault' in load) throw new Error(load.fault)
      return load
    },
    end: () => child.disconnect(),
  }
}

function spawnNode(command: readonly string[], args: readonly string[]): ChildProcess {
  const [program = '', ...rest] = [...command, process.execPath, ...args]
  return spawn(program, rest, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
}

function hear<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null) => reject(new Error(`A process has ended with ${code}`))
    child.once('exit', onExit)
    child.once('message', (message) => {
      child.off('exit', onExit)
      resolve(message as T)
    })
  })
}
