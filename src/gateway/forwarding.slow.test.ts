import { randomUUID } from 'node:crypto'
import { readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { runCommand } from '../test/command.ts'
import { type GatewayProcess, layOutGateway, send, startProcess } from '../test/gateway.ts'
import { type Receiver, startReceiver, status } from '../test/receiver.ts'
import type { DestinationStatus, LetterPage } from './forward/forwarding.ts'
import { KINDS } from './forward/kinds.ts'
import { createDestinations } from './sqlite/destinations.ts'
import { openForwardLog } from './sqlite/forwardLog.ts'
import { openForwardStore } from './sqlite/forwardStore.ts'

/** Forwarding by real processes, which are killed, to real receivers. */

const SECRET = 'the rest key of the service'
/** Not a bot's: those are not forwarded. */
const BROWSER =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Safari/537.36'
const OK = status(200, { 'content-type': 'application/json' }, '{"id":"x"}')

let folder: string
let running: GatewayProcess[]
let receivers: Receiver[]

beforeEach(() => {
  folder = layOutGateway()
  running = []
  receivers = []
})
afterEach(async () => {
  await Promise.all(
    running.map(
      ({ process, end }) => process.exitCode === null && !process.killed && end('SIGKILL'),
    ),
  )
  await Promise.all(receivers.map(({ close }) => close()))
  rmSync(folder, { recursive: true })
})

async function start(env: Readonly<Record<string, string>> = {}): Promise<GatewayProcess> {
  const gateway = await startProcess(folder, env)
  running.push(gateway)
  return gateway
}

async function listen(): Promise<Receiver> {
  const receiver = await startReceiver()
  receiver.answer(OK)
  receivers.push(receiver)
  return receiver
}

function forward(...args: readonly string[]): string {
  const env = { DATA_DIR: join(folder, 'data'), FORWARD_REST_KEY: SECRET }
  const { status, stdout, stderr } = runCommand(['forward', ...args], env)
  if (status !== 0) throw new Error(stdout + stderr)
  return stdout
}

const add = ({ url }: Receiver, ...more: readonly string[]): string =>
  forward(
    ...['add', 'demo', '--kind', 'service', '--set', `baseUrl=${url}`, '--set', 'customerId=ACME'],
    ...['--set', 'trackingKey=TRACK123', '--from', 'beginning', ...more],
  ).slice(0, 10)

/** What `forward list` shows. A process for each look would take most of the time of these tests. */
function statusOf(id: string): DestinationStatus {
  const pathOf = (name: string) => join(folder, 'data', name)
  const store = openForwardStore(pathOf('forward.db'))
  const log = openForwardLog(pathOf('events.db'))
  try {
    const destinations = createDestinations({
      ...{ store, log, kinds: KINDS, now: Date.now },
      isCustomer: () => true,
    })
    return destinations.list().find(({ destination }) => destination.id === id) as DestinationStatus
  } finally {
    log.close()
    store.close()
  }
}

/** Sends a batch as a page does. Returns the ids. */
async function post({ url }: GatewayProcess, dids: readonly string[]): Promise<string[]> {
  const events = dids.map((did) => ({
    id: randomUUID(),
    at: Date.now(),
    payload: { event: 'view_page', did, url: 'https://shop.example/', http_user_agent: BROWSER },
  }))
  const answer = await send(url, '/t/batch?k=DEMOSHOP', {
    method: 'POST',
    headers: { origin: 'http://localhost:1', 'content-type': 'text/plain' },
    body: JSON.stringify({ sent: Date.now(), events }),
  })
  expect(answer.status).toBe(200)
  return events.map(({ id }) => id)
}

const idsAt = ({ received }: Receiver): string[] =>
  received.map(({ path }) => new URL(path, 'http://x').searchParams.get('id') as string)

/** The first arrival of each id, in order. */
const firstAt = (receiver: Receiver): string[] => [...new Set(idsAt(receiver))]

const until = (check: () => void) => vi.waitFor(check, { timeout: 40_000, interval: 20 })

test('killed in the middle of a batch, again and again: everything arrives, in the order of each device, with the same ids', async () => {
  const receiver = await listen()
  let gateway = await start()
  add(receiver)
  const dids = Array.from({ length: 90 }, (_, i) => `device-${i % 4}`)
  const sent = await post(gateway, dids)
  for (const kills of [1, 2]) {
    // A kill before the answer, while others are under way, so nothing of the batch is stored.
    const before = receiver.received.length
    await new Promise<void>((resolve) => {
      receiver.answer((request, response, socket) => {
        if (receiver.received.length === before + 15) {
          running.at(-1)?.process.kill('SIGKILL')
          resolve()
        }
        if (receiver.received.length < before + 15) OK(request, response, socket)
      })
    })
    await until(() => expect(gateway.process.signalCode).toBe('SIGKILL'))
    receiver.answer(OK)
    expect(new Set(idsAt(receiver)).size, `after kill ${kills}`).toBeLessThan(sent.length)
    gateway = await start()
    sent.push(...(await post(gateway, dids.slice(0, 8))))
  }
  await until(() => expect(firstAt(receiver)).toHaveLength(sent.length))
  expect(new Set(idsAt(receiver))).toEqual(new Set(sent))
  const deviceOf = new Map(
    receiver.received.map(({ body }, i) => [idsAt(receiver)[i], JSON.parse(body).did]),
  )
  for (const device of ['device-0', 'device-1', 'device-2', 'device-3'])
    expect(firstAt(receiver).filter((id) => deviceOf.get(id) === device)).toEqual(
      sent.filter((id) => deviceOf.get(id) === device),
    )
})

test('while one destination hangs, events are acknowledged, others get them, and a stop is clean', async () => {
  const [hanging, healthy] = [await listen(), await listen()]
  hanging.answer(() => {})
  const gateway = await start()
  const [stuck, fine] = [add(hanging), add(healthy)]
  const sent = [
    ...(await post(gateway, ['a', 'b', 'c'])),
    ...(await post(gateway, ['a', 'b', 'c'])),
  ]
  await hanging.wait(1)
  await until(() => expect(firstAt(healthy)).toHaveLength(sent.length))
  expect(statusOf(stuck)).toMatchObject({ lagEvents: sent.length, delivered: 0 })
  await until(() => expect(statusOf(fine)).toMatchObject({ lagEvents: 0, delivered: sent.length }))
  expect(await gateway.end('SIGTERM')).toBe(0)
  // Its place is free at once, since it was given back.
  hanging.answer(OK)
  await start()
  await until(() => expect(firstAt(hanging)).toHaveLength(sent.length))
  expect(gateway.output()).not.toContain(SECRET)
})

test('a change on the command line is seen by a running gateway, and letters are mended and replayed', async () => {
  const receiver = await listen()
  const gateway = await start({ METRICS_PORT: '0' })
  const id = add(receiver)
  receiver.answer(status(422, { 'content-type': 'application/json' }, '{"message":"No"}'))
  const [sent] = await post(gateway, ['a'])
  await until(() => expect(statusOf(id).letters).toBe(1))
  forward('pause', id)
  await until(() => expect(statusOf(id).state.name).toBe('paused'))
  await post(gateway, ['b'])
  const before = receiver.received.length
  receiver.answer(OK)
  forward('mend', id, '--patch', '{"source":"mended"}')
  forward('replay', id)
  forward('resume', id)
  await until(() => expect(statusOf(id)).toMatchObject({ letters: 0, delivered: 2, lagEvents: 0 }))
  const bodies = receiver.received.slice(before).map(({ body }) => JSON.parse(body))
  expect(bodies.find(({ did }) => did === 'a')).toMatchObject({ source: 'mended' })
  expect(idsAt(receiver).slice(before)).toContain(sent)
  expect((JSON.parse(forward('letters', id, '--json')) as LetterPage).count).toBe(0)
  expect(JSON.parse(forward('list', '--json'))).toMatchObject([{ letters: 0, delivered: 2 }])

  const metrics = /"metricsUrl":"([^"]+)"|Metrics +(\S+)/.exec(gateway.output())
  const { text } = await send(metrics?.[1] ?? (metrics?.[2] as string), '/metrics')
  expect(text).toContain(`forward_delivered_total{destination="${id}"} 2`)
  expect(text).toContain(`forward_lag_events{destination="${id}"} 0`)
  for (const name of readdirSync(join(folder, 'data')).filter((name) => name.startsWith('forward')))
    expect(statSync(join(folder, 'data', name)).mode & 0o077).toBe(0)
})

test('the log says that a destination has stopped, and that it takes events again', async () => {
  const receiver = await listen()
  const gateway = await start()
  const id = add(receiver)
  const database = new Database(join(folder, 'data/forward.db'))
  database.prepare("UPDATE destinations SET settings = '{}', revision = 9 WHERE id = ?").run(id)
  database.close()
  await until(() => expect(gateway.output()).toContain('A destination has stopped'))
  forward(
    ...['set', id, '--set', `baseUrl=${receiver.url}`, '--set', 'customerId=ACME'],
    ...['--set', 'trackingKey=TRACK123'],
  )
  await post(gateway, ['a'])
  await until(() => expect(gateway.output()).toContain('A destination takes events again'))
  const line = new RegExp(`"destination":"${id}","customer":"demo","kind":"service"`)
  expect(gateway.output()).toMatch(line)
  expect(gateway.output()).not.toContain(SECRET)
})
