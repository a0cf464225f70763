import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { makeLogEvent, publishEvent } from '../test/followers.ts'
import { prepareGateway } from '../test/gateway.ts'
import { startReceiver, status } from '../test/receiver.ts'
import { takeAccount } from '../test/sharedCluster.ts'
import { runCommandLine } from './cli.ts'
import type { Gateway } from './index.ts'
import { connectBroker } from './nats/broker.ts'

/** Long, for busy machines. */
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 })
const SOON = { timeout: 90_000, interval: 100 }
const EVENTS = 300
const DEVICES = 3
const account = { ...takeAccount(), partitions: 1 }

let prepared: Awaited<ReturnType<typeof prepareGateway>>
let service: Gateway
const receiver = await startReceiver()
const children: ReturnType<typeof spawn>[] = []
beforeAll(async () => {
  prepared = await prepareGateway()
  service = await prepared.start({ dataDir: join(prepared.folder, 'service'), demo: true })
})
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL')
  await receiver.close()
  await prepared.end()
})

const env = (): Record<string, string> => ({
  ENGINE: `nats://${account.servers.join(',')}`,
  NATS_USER: account.user,
  NATS_PASSWORD: account.password,
  NATS_PARTITIONS: '1',
  FORWARD_SECRET: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
  FORWARD_REST_KEY: service.demoRestKey ?? '',
})

/** Starts `shoptrail follow`. */
function startFollower(name: string) {
  const child = spawn(process.execPath, [join(prepared.folder, 'dist/shoptrail.js'), 'follow'], {
    env: { ...env(), DATA_DIR: join(prepared.folder, name) },
    stdio: 'ignore',
  })
  children.push(child)
  return child
}

/** Runs a command line as the process does. Rejects unless it succeeds. */
async function run(...args: readonly string[]): Promise<void> {
  const { work } = runCommandLine(args, env())
  if (!work) throw new Error('Expected a command that takes a while')
  const { code, errors } = await work()
  if (code !== 0) throw new Error(errors?.join('\n'))
}

const event = (number: number) =>
  makeLogEvent({
    ...{ customer: 'demo', did: `d-${number % DEVICES}` },
    payload: JSON.stringify({
      ...{ did: `d-${number % DEVICES}`, event: 'search', search_term: `${number}` },
      ...{ url: 'http://localhost/', http_user_agent: 'UA/1', remote_addr: '0.0.0.0' },
    }),
  })

type Sent = { readonly id: string; readonly did: string; readonly payload: { search_term: string } }
const sentToWebhook = (): Sent[] =>
  receiver.received.flatMap(({ body }) => JSON.parse(body).events as Sent[])

async function idsOfService(): Promise<string[]> {
  const ids: string[] = []
  for (let after = 0; ; ) {
    const rows = await service.log.read({ after, max: 1_000 })
    ids.push(...rows.map(({ id }) => id))
    const last = rows.at(-1)
    if (!last) return ids
    after = last.seq
  }
}

test('when the follower that forwards is killed, the next one sends every event, none twice to a service', async () => {
  const broker = await connectBroker(account)
  await run('customer', 'add', '--id', 'demo', '--origin', 'null')
  const followers = [startFollower('a'), startFollower('b')]
  /** The process that holds the partition. */
  const findHolder = async () => {
    const entry = await broker.leases.get('partition.0')
    const pid =
      entry?.operation === 'PUT' && Number(entry.json<{ name: string }>().name.split(' ')[1])
    return followers.find((one) => one.pid === pid)
  }
  await expect.poll(findHolder, SOON).toBeDefined()
  // It answers when its tasks have started.
  await vi.waitFor(() => run('forward', 'list'), SOON)
  const events = Array.from({ length: EVENTS }, (_, number) => event(number))
  for (const one of events) await publishEvent(broker, one)

  // What the first request has sent has arrived, but its sender does not learn that.
  let beginKill = () => {}
  const added = new Promise<void>((resolve) => {
    beginKill = resolve
  })
  let killed: Promise<void> | undefined
  receiver.answer((_request, _response, socket) => {
    killed ??= added.then(findHolder).then((holder) => {
      holder?.kill('SIGKILL')
      socket.destroy()
      receiver.answer(status(204))
    })
  })
  const [from, kind] = [['--from', 'beginning'], (name: string) => ['--kind', name]]
  await run(
    'forward',
    'add',
    'demo',
    ...kind('service'),
    ...from,
    ...[
      ...['--set', `baseUrl=${service.url}`, '--set', 'customerId=demo'],
      ...['--set', 'trackingKey=DEMOSHOP'],
    ],
  )
  await run('forward', 'add', 'demo', ...kind('webhook'), ...from, '--set', `url=${receiver.url}/`)
  beginKill()
  await expect.poll(() => killed !== undefined, SOON).toBe(true)
  await killed

  const all = new Set(events.map(({ id }) => id))
  await expect.poll(() => new Set(sentToWebhook().map(({ id }) => id)), SOON).toEqual(all)
  await expect.poll(async () => new Set(await idsOfService()), SOON).toEqual(all)
  expect((await idsOfService()).length).toBe(EVENTS)
  // The first time that each event comes, those of a device come in their order.
  const seen = new Set<string>()
  const last = new Map<string, number>()
  for (const { id, did, payload } of sentToWebhook()) {
    if (seen.has(id)) continue
    seen.add(id)
    expect(Number(payload.search_term)).toBeGreaterThan(last.get(did) ?? -1)
    last.set(did, Number(payload.search_term))
  }
  expect(sentToWebhook().length).toBeGreaterThan(EVENTS)
  await broker.close()
})
