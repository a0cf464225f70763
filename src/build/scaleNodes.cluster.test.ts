import { execFileSync, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { examineCluster } from '../gateway/doctor/examineCluster.ts'
import { createAsk, serveAnswers } from '../gateway/nats/ask.ts'
import { connectBroker } from '../gateway/nats/broker.ts'
import {
  countsSubject,
  eventSubject,
  removedSubject,
  streamOf,
  usageSubject,
} from '../gateway/nats/names.ts'
import type { NatsOptions } from '../gateway/nats/natsOptions.ts'
import { findPort } from '../test/findPort.ts'
import { prepareGateway, send } from '../test/gateway.ts'

/*
 * The configurations of docs/scale in a real nats-server.
 */

const folder = mkdtempSync(join(tmpdir(), 'shoptrail-scale-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const PASSWORD = 'loopback'
const env = {
  ...process.env,
  NODE: 'nats-1',
  NATS_PASSWORD: PASSWORD,
  NATS_SYSTEM_PASSWORD: 'system',
}

const docs = new URL('../../docs/scale/', import.meta.url)
const ofCompose = readFileSync(new URL('nats.conf', docs), 'utf8')
const manifest = readFileSync(new URL('kubernetes.yaml', docs), 'utf8')
const ofKubernetes: string = parseAllDocuments(manifest)
  .map((document) => document.toJS())
  .find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === 'nats').data[
  'nats-server.conf'
]

/** Writes a configuration for the server that is installed here. */
function write(name: string, text: string): string {
  const [, major = 0, minor = 0] =
    /v(\d+)\.(\d+)/.exec(execFileSync('nats-server', ['--version'], { encoding: 'utf8' })) ?? []
  const isKnown = Number(major) > 2 || Number(minor) >= 10
  const path = join(folder, name)
  // Servers before 2.10 do not know this line.
  writeFileSync(path, isKnown ? text : text.replace(/^\s*sync_interval: .*$/m, ''))
  return path
}

test.each([
  ['nats.conf', ofCompose],
  ['kubernetes.conf', ofKubernetes],
  // With the line that a comment offers.
  ['kubernetes-always.conf', ofKubernetes.replace('# sync_interval', 'sync_interval')],
])('nats-server accepts %s', (name, text) => {
  execFileSync('nats-server', ['-t', '-c', write(name, text)], { env, stdio: 'pipe' })
})

/** A single node with the configuration of compose.yaml. */
async function startNode(name: string) {
  const port = await findPort()
  const text = ofCompose
    .replace('port: 4222', `port: ${port}`)
    .replace('http_port: 8222', '')
    .replace('/data', join(folder, name))
    .replace('100GB', '1GB')
    .replace(/^cluster \{.*?^\}/ms, '')
  const node = spawn('nats-server', ['-c', write(`${name}.conf`, text)], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const ended = once(node, 'exit')
  let log = ''
  node.stderr.on('data', (chunk) => {
    log += chunk
  })
  return {
    options: { servers: [`127.0.0.1:${port}`], user: 'shoptrail', password: PASSWORD, replicas: 1 },
    /** What the node has refused. */
    violations: () => log.split('\n').filter((line) => line.includes('Violation')),
    async end() {
      node.kill()
      await ended
    },
  }
}

test('the permissions of the user are enough for all streams, buckets and questions', async () => {
  const node = await startNode('pieces')
  try {
    const broker = await connectWhenUp(node.options)
    const { js, nc } = broker
    for (const subject of [eventSubject(1, 'a'), removedSubject(1, 'a'), countsSubject(1)])
      await js.publish(subject, 'x')
    const consumer = await js.consumers.get(streamOf(1))
    const message = await consumer.next()
    expect(message?.subject).toBe(eventSubject(1, 'a'))
    for (const bucket of ['customers', 'campaigns', 'derived', 'leases', 'salts'] as const) {
      await broker[bucket].put('key', 'value')
      expect((await broker[bucket].get('key'))?.string()).toBe('value')
      const watched = await broker[bucket].watch()
      for await (const { key } of watched) {
        expect(key).toBe('key')
        break
      }
      await broker[bucket].delete('key')
    }
    await broker.content.putBlob({ name: 'x' }, new Uint8Array(200_000))
    expect((await broker.content.getBlob('x'))?.length).toBe(200_000)
    nc.subscribe(usageSubject(1))
    nc.publish(usageSubject(1))
    const stop = serveAnswers(nc, 1, { reportsLag: async () => 7 } as never, () => {})
    expect(await createAsk(nc)(1, 'reportsLag', [])).toBe(7)
    stop()
    await nc.flush()
    expect(node.violations()).toEqual([])
    nc.publish('somewhere.else')
    await expect.poll(node.violations, { timeout: 30_000 }).toHaveLength(1)
    await broker.close()
  } finally {
    await node.end()
  }
})

test('the permissions of the user are enough for a gateway that follows', async () => {
  const node = await startNode('gateway')
  const prepared = await prepareGateway()
  try {
    const cluster = { ...node.options, partitions: 1 }
    await (await connectWhenUp(cluster)).close()
    const gateway = await prepared.start({ cluster, demo: true })
    const id = randomUUID()
    const { status } = await send(gateway.url, `/t/r?k=DEMOSHOP&id=${id}`, {
      method: 'POST',
      headers: { origin: 'http://localhost' },
      body: JSON.stringify({
        ...{ event: 'search', search_term: 'mug', did: 'd-1', url: 'http://localhost/' },
        ...{ http_user_agent: 'UA/1', remote_addr: '0.0.0.0' },
      }),
    })
    expect(status).toBe(200)
    await expect
      .poll(() => gateway.log.has('demo', [id]), { timeout: 60_000, interval: 100 })
      .toEqual([true])
    const findings = await examineCluster(cluster)
    expect(findings.filter(({ level }) => level === 'error')).toEqual([])
    await gateway.close()
    expect(node.violations()).toEqual([])
  } finally {
    await prepared.end()
    await node.end()
  }
})

async function connectWhenUp(options: NatsOptions) {
  for (;;)
    try {
      return await connectBroker(options)
    } catch (error) {
      if (!/refused/i.test((error as Error).message)) throw error
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
}
