import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type GatewayProcess, layOutGateway, startProcess } from '../../test/gateway.ts'
import { type Receiver, startReceiver } from '../../test/receiver.ts'

/** Real gateways with real destinations, killed while they are busy. */
let folder: string
let receiver: Receiver

beforeAll(async () => {
  folder = layOutGateway()
  receiver = await startReceiver()
})
afterAll(async () => {
  await receiver.close()
  rmSync(folder, { recursive: true })
})

const KILLS = 4
const DEVICES = 8
/** Events before and after both destinations have begun to get those of a round. */
const EVENTS_A_HALF = 300
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

type Sent = { readonly did: string; readonly id: string; readonly number: number }

/** Runs a command of the command line over the data of the gateway. */
const command = (...args: readonly string[]): string =>
  execFileSync(process.execPath, [join(folder, 'dist/shoptrail.js'), ...args], {
    env: { DATA_DIR: join(folder, 'data'), FORWARD_SECRET: SECRET },
  }).toString()

/** Resolves with whether the event was acknowledged. */
async function post({ url }: GatewayProcess, { did, id, number }: Sent): Promise<boolean> {
  try {
    const answer = await fetch(`${url}/t/r?k=DEMOSHOP&id=${id}`, {
      method: 'POST',
      headers: { origin: url, 'content-type': 'text/plain' },
      body: JSON.stringify({
        did,
        event: 'search',
        url: 'https://shop.example/',
        http_user_agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
        search_term: `${number}`,
      }),
    })
    await answer.arrayBuffer()
    return answer.ok
  } catch {
    return false
  }
}

/** Devices that send one event after the other. An event without an answer is sent again, with the same id. */
function createDevices() {
  const pending: Sent[] = Array.from({ length: DEVICES }, (_, i) => ({
    did: `device-${i}`,
    id: randomUUID(),
    number: 1,
  }))
  const sent: Sent[] = []
  return {
    sent,
    /** Sends until `isOver`, each device on its own. */
    async run(gateway: GatewayProcess, isOver: () => boolean): Promise<void> {
      const drive = async (i: number) => {
        while (!isOver()) {
          const event = pending[i] as Sent
          if (!(await post(gateway, event))) return
          sent.push(event)
          pending[i] = { did: event.did, id: randomUUID(), number: event.number + 1 }
        }
      }
      await Promise.all(pending.map((_, i) => drive(i)))
    },
  }
}

type Line = { readonly id: string; readonly did: string; readonly payload: { search_term: string } }

/** The lines of all files of the destination, as a warehouse reads them. */
function linesOf(destination: string): Line[] {
  const files = join(folder, 'data/forward', destination)
  return readdirSync(files)
    .filter((name) => name.includes('.ndjson.'))
    .sort()
    .flatMap((name) =>
      execFileSync('zcat', ['-f'], {
        input: readFileSync(join(files, name)),
        maxBuffer: 2 ** 28,
      })
        .toString()
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Line),
    )
}

const numbersOf = (lines: readonly Line[], device: string): number[] =>
  lines.filter(({ did }) => did === device).map(({ payload }) => Number(payload.search_term))

test('after kills of the gateway a file has each event once, a webhook at least once, each device in order', async () => {
  const devices = createDevices()
  let gateway = await startProcess(folder)
  const add = (...args: readonly string[]): string =>
    command('forward', 'add', 'demo', ...args).slice(0, 10)
  const file = add('--kind', 'file')
  add('--kind', 'webhook', '--set', `url=${receiver.url}/`)

  for (let kill = 0; kill < KILLS; kill++) {
    const received = receiver.received.length
    const half = devices.sent.length + EVENTS_A_HALF
    await devices.run(gateway, () => devices.sent.length >= half)
    // The lease of the killed gateway before has ended, so both are sending when this one is killed.
    await receiver.wait(received + 1)
    const whole = devices.sent.length + EVENTS_A_HALF
    let killed: Promise<unknown> | undefined
    await devices.run(gateway, () => {
      if (devices.sent.length >= whole) killed ??= gateway.end('SIGKILL')
      return killed !== undefined
    })
    await killed
    gateway = await startProcess(folder)
  }
  // Those without an answer.
  const all = devices.sent.length + DEVICES
  await devices.run(gateway, () => devices.sent.length >= all)

  const count = devices.sent.length
  await vi.waitFor(() => expect(linesOf(file).length).toBeGreaterThanOrEqual(count), {
    timeout: 20_000,
    interval: 1_000,
  })
  const got = () =>
    receiver.received.flatMap(({ body }) => (JSON.parse(body) as { events: Line[] }).events)
  await vi.waitFor(() => expect(new Set(got().map(({ id }) => id)).size).toBe(count), {
    timeout: 20_000,
    interval: 1_000,
  })
  expect(await gateway.end('SIGTERM')).toBe(0)

  const lines = linesOf(file)
  expect(lines).toHaveLength(count)
  const first = [...new Map(got().map((line) => [line.id, line])).values()]
  for (const did of Array.from({ length: DEVICES }, (_, i) => `device-${i}`)) {
    const numbers = devices.sent.filter((event) => event.did === did).map(({ number }) => number)
    expect(numbersOf(lines, did)).toEqual(numbers)
    // A Map has its keys in the order in which they came first.
    expect(numbersOf(first, did)).toEqual(numbers)
  }
})
