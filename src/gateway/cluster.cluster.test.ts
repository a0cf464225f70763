import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findPort } from '../test/findPort.ts'
import { prepareGateway, send } from '../test/gateway.ts'
import { takeAccount } from '../test/sharedCluster.ts'
import type { Gateway } from './index.ts'
import { connectBroker } from './nats/broker.ts'

/** Long, for busy machines. */
const SOON = { timeout: 60_000, interval: 100 }
const cluster = { ...takeAccount(), partitions: 2 }

let prepared: Awaited<ReturnType<typeof prepareGateway>>
beforeAll(async () => {
  prepared = await prepareGateway()
})
afterAll(() => prepared.end())

const errors: string[] = []
const start = (name: string, follow = true): Promise<Gateway> =>
  prepared.start({
    cluster: { ...cluster, follow },
    dataDir: join(prepared.folder, name),
    demo: true,
    onError: (error, what) => errors.push(`${what}: ${(error as Error).message}`),
  })

async function post({ url }: Gateway, id: string): Promise<number> {
  const { status } = await send(url, `/t/r?k=DEMOSHOP&id=${id}`, {
    method: 'POST',
    headers: { origin: 'http://localhost' },
    body: JSON.stringify({
      event: 'search',
      search_term: 'mug',
      did: 'd-1',
      url: 'http://localhost/',
      http_user_agent: 'UA/1',
      remote_addr: '0.0.0.0',
    }),
  })
  return status
}

test('an event that one gateway has stored is known to the other one', async () => {
  const one = await start('one')
  const other = await start('other')
  expect(one.demoRestKey).toBeDefined()
  expect(other.demoRestKey).toBeUndefined()
  const id = randomUUID()
  expect(await post(one, id)).toBe(200)
  for (const { log } of [one, other])
    await expect.poll(() => log.has('demo', [id]), SOON).toEqual([true])
  expect((await send(other.url, '/readyz')).status).toBe(200)
  await one.close()
  expect(await post(other, id)).toBe(200)
  await expect.poll(() => other.log.has('demo', [id]), SOON).toEqual([true])
  await other.close()
  expect(errors).toEqual([])
})

/** A process of `shoptrail follow`, with its log. */
function startFollow(name: string) {
  const child = spawn(process.execPath, [join(prepared.folder, 'dist/shoptrail.js'), 'follow'], {
    env: {
      ENGINE: `nats://${cluster.servers.join(',')}`,
      NATS_USER: cluster.user,
      NATS_PASSWORD: cluster.password,
      NATS_PARTITIONS: `${cluster.partitions}`,
      DATA_DIR: join(prepared.folder, name),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk
  })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  return {
    pid: child.pid as number,
    output: () => output,
    kill: (signal: NodeJS.Signals) => child.kill(signal),
    ended,
  }
}

test('followers share the partitions, and take them over from one that hangs or is killed', {
  timeout: 180_000,
}, async () => {
  const broker = await connectBroker(cluster)
  const partition = broker.partitionOf('demo')
  /** The process that holds each partition, as the bucket has it. */
  async function holders() {
    const entries = await Promise.all([0, 1].map((n) => broker.leases.get(`partition.${n}`)))
    return entries.map((entry) =>
      entry?.operation === 'PUT' ? Number(entry.json<{ name: string }>().name.split(' ')[1]) : 0,
    )
  }
  const [a, b] = [startFollow('a'), startFollow('b')]
  const gateway = await start('alone', false)
  await expect.poll(holders, SOON).toEqual(expect.arrayContaining([a.pid, b.pid]))
  const id = randomUUID()
  expect(await post(gateway, id)).toBe(200)
  const has = () => gateway.log.has('demo', [id])
  await expect.poll(has, SOON).toEqual([true])

  const [holder, other] = (await holders())[partition] === a.pid ? [a, b] : [b, a]
  holder.kill('SIGSTOP')
  await expect.poll(holders, SOON).toEqual([other.pid, other.pid])
  await expect.poll(has, SOON).toEqual([true])
  holder.kill('SIGCONT')
  await expect.poll(holder.output, SOON).toContain('is held by another follower')
  // It gets its share again.
  await expect.poll(holders, SOON).toEqual(expect.arrayContaining([a.pid, b.pid]))

  other.kill('SIGKILL')
  await expect.poll(holders, SOON).toEqual([holder.pid, holder.pid])
  await expect.poll(has, SOON).toEqual([true])
  holder.kill('SIGTERM')
  expect(await holder.ended).toBe(0)
  expect(await holders()).toEqual([0, 0])
  expect(holder.output()).toContain('"msg":"Following"')
  expect(holder.output()).not.toContain(cluster.password)
  await broker.close()
})

test('a gateway listens while the cluster can not be reached, says why, and is ready when it can', async () => {
  const port = await findPort()
  const address = `127.0.0.1:${port}`
  const gateway = await prepared.start({
    cluster: { ...cluster, servers: [address], follow: false },
    dataDir: join(prepared.folder, 'waiting'),
    onError: () => {},
  })
  expect(gateway.isOpen()).toBe(false)
  const { status, text } = await send(gateway.url, '/readyz')
  expect(status).toBe(503)
  expect(text).toContain('The cluster can not be reached')
  expect(text).not.toContain(address)
  expect(await post(gateway, randomUUID())).toBe(503)

  const [host, target] = (cluster.servers[0] as string).split(':')
  const proxy = createServer((socket) => {
    const server = connect(Number(target), host)
    socket.on('error', () => server.destroy())
    server.on('error', () => socket.destroy())
    socket.pipe(server).pipe(socket)
  })
  await new Promise<void>((resolve) => proxy.listen(port, '127.0.0.1', resolve))
  await expect.poll(async () => (await send(gateway.url, '/readyz')).status, SOON).toBe(200)
  expect(await post(gateway, randomUUID())).toBe(200)
  await gateway.close()
  proxy.close()
})
