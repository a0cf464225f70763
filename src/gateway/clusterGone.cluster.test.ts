import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { findPort } from '../test/findPort.ts'
import { layOutGateway, makeFolder, send, startProcess } from '../test/gateway.ts'
import { connectBroker } from './nats/broker.ts'
import { streamOf } from './nats/names.ts'

/** Processes whose cluster goes away. It is a node of this file's own. */
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 })
const SOON = { timeout: 60_000, interval: 100 }

const folder = layOutGateway()
const home = makeFolder()
let options: Parameters<typeof connectBroker>[0]
let node: ChildProcess | undefined

async function startNode(): Promise<void> {
  node = spawn('nats-server', ['-c', join(home, 'n.conf')], { stdio: 'ignore' })
  await vi.waitFor(async () => (await connectBroker(options)).close(), SOON)
}

const killNode = (): Promise<void> =>
  new Promise((resolve) => {
    node?.once('exit', () => resolve())
    node?.kill('SIGKILL')
  })

beforeAll(async () => {
  const port = await findPort()
  const store = `jetstream { store_dir: "${join(home, 'node')}" }`
  writeFileSync(join(home, 'n.conf'), `listen: 127.0.0.1:${port}\n${store}\n`)
  options = { servers: [`127.0.0.1:${port}`], partitions: 1, replicas: 1 }
  await startNode()
})
afterAll(async () => {
  await killNode()
  for (const one of [folder, home]) rmSync(one, { recursive: true, force: true })
})

const env = (name: string) => ({
  ENGINE: `nats://${options.servers[0]}`,
  NATS_PARTITIONS: '1',
  NATS_REPLICAS: '1',
  DATA_DIR: join(folder, name),
})

const post = (url: string) =>
  send(url, `/t/r?k=DEMOSHOP&id=${randomUUID()}`, {
    method: 'POST',
    headers: { origin: 'http://localhost' },
    body: JSON.stringify({
      ...{ event: 'search', search_term: 'mug', did: 'd-1', url: 'http://localhost/' },
      ...{ http_user_agent: 'UA/1', remote_addr: '0.0.0.0' },
    }),
  })

test('a gateway that is stopped while its cluster is away says what is unknown, and ends', async () => {
  const gateway = await startProcess(folder, env('stopped'))
  await vi.waitFor(async () => expect((await post(gateway.url)).status).toBe(200), SOON)
  await killNode()
  // Its answer comes after the stop has begun.
  const asked = post(gateway.url)
  await vi.waitFor(async () => expect((await send(gateway.url, '/readyz')).status).toBe(503), SOON)
  const ended = gateway.end('SIGTERM')
  const { status, headers, text } = await asked
  expect({ status, retry: headers['retry-after'] }).toEqual({ status: 503, retry: '5' })
  expect(text).toContain('connection to the cluster is lost')
  expect(await ended).toBe(0)
  expect(gateway.output()).not.toContain('The stop took too long')
  await startNode()
})

test('a follower that is stopped while its cluster is away ends', async () => {
  const child = spawn(process.execPath, [join(folder, 'dist/shoptrail.js'), 'follow'], {
    env: env('follower'),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output += chunk
    })
  await expect.poll(() => output, SOON).toContain('A partition is held')
  await killNode()
  await expect.poll(() => output, SOON).toContain('Not ready')
  const ended = new Promise((resolve) => child.once('close', resolve))
  child.kill('SIGTERM')
  expect(await ended, output).toBe(0)
  expect(output).not.toContain('The stop took too long')
  await startNode()
})

test('a stream that is deleted is named, events are refused, and a restart makes it again', async () => {
  const gateway = await startProcess(folder, env('deleted'))
  await vi.waitFor(async () => expect((await post(gateway.url)).status).toBe(200), SOON)
  const broker = await connectBroker(options)
  await broker.jsm.streams.delete(streamOf(0))
  await broker.close()
  await vi.waitFor(async () => {
    const { status, text } = await post(gateway.url)
    expect({ status, text }).toEqual({
      status: 503,
      text: expect.stringContaining('at the moment'),
    })
  }, SOON)
  await vi.waitFor(async () => expect((await send(gateway.url, '/readyz')).status).toBe(503), SOON)
  expect(await gateway.end('SIGTERM')).toBe(0)
  expect(gateway.output()).toContain('Its stream may have no quorum, or was deleted')

  const again = await startProcess(folder, env('deleted'))
  await vi.waitFor(async () => expect((await post(again.url)).status).toBe(200), SOON)
  expect(await again.end('SIGTERM')).toBe(0)
})
