import { spawn, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type GatewayProcess, layOutGateway, startProcess } from '../test/gateway.ts'
import { completePayloads } from '../test/payloads.ts'
import { openDatabase } from './sqlite/database.ts'

/** Acknowledged means durable: shown on the real process, killed while it is busy. */
let folder: string
/** The REST key of the demo customer, which the first start over a folder prints. */
let restKey = ''

beforeAll(async () => {
  folder = layOutGateway()
})
afterAll(() => rmSync(folder, { recursive: true }))

const BODY = JSON.stringify({
  did: 'd-1',
  event: 'view_homepage',
  url: 'https://shop.example/',
  http_user_agent: 'Agent/1',
})

/** Resolves with whether the event was acknowledged; a connection that breaks is no acknowledgement. */
async function post({ url }: GatewayProcess, id: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/t/r?k=DEMOSHOP&id=${id}`, {
      method: 'POST',
      headers: { origin: url, 'content-type': 'text/plain' },
      body: BODY,
    })
    return response.ok && (await response.json()).id === id
  } catch {
    return false
  }
}

/** Posts from several senders until `count` events are acknowledged and the process is killed. */
async function load(gateway: GatewayProcess, count: number) {
  const acknowledged: string[] = []
  const unanswered: string[] = []
  let killed: Promise<unknown> | undefined
  const sender = async () => {
    while (!killed) {
      const id = randomUUID()
      const good = await post(gateway, id)
      ;(good ? acknowledged : unanswered).push(id)
      if (acknowledged.length >= count) killed ??= gateway.end('SIGKILL')
    }
  }
  await Promise.all(Array.from({ length: 32 }, sender))
  await killed
  return { acknowledged, unanswered }
}

function storedIds(dataDir: string): string[] {
  const database = openDatabase(join(dataDir, 'events.db'))
  const ids = database.prepare<[], string>('SELECT lower(hex(id)) FROM events').pluck().all()
  expect(database.pragma('integrity_check', { simple: true })).toBe('ok')
  database.close()
  return ids
}

const bare = (id: string) => id.replaceAll('-', '')

test('kill -9 under load loses nothing that was acknowledged, and a resend stores nothing twice', async () => {
  const dataDir = join(folder, 'killed')
  const acknowledged: string[] = []
  for (const count of [150, 300, 600]) {
    const round = await load(await startProcess(folder, { DATA_DIR: dataDir }), count)
    acknowledged.push(...round.acknowledged)
    const stored = new Set(storedIds(dataDir))
    expect(acknowledged.filter((id) => !stored.has(bare(id)))).toEqual([])

    // Senders without an answer do not know whether the event was stored, so they send it again.
    const restarted = await startProcess(folder, { DATA_DIR: dataDir })
    for (const id of [...round.unanswered, ...round.acknowledged.slice(-20)])
      expect(await post(restarted, id)).toBe(true)
    acknowledged.push(...round.unanswered)
    expect(await restarted.end('SIGTERM')).toBe(0)
    const ids = storedIds(dataDir)
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids).toHaveLength(acknowledged.length)
  }
}, 60_000)

test('kill -9 loses no campaign that was answered', async () => {
  const dataDir = join(folder, 'campaigns')
  const answered: object[] = []
  for (let round = 0; round < 2; round++) {
    const gateway = await startProcess(folder, { DATA_DIR: dataDir })
    const key = /REST key +(\S+)/.exec(gateway.output())?.[1] ?? restKey
    restKey = key
    const query = `?k=${key}&u=demo`
    const create = async () => {
      const body = JSON.stringify(completePayloads.create)
      const path = `/api/v1/campaigns/create${query}`
      const response = await fetch(gateway.url + path, { method: 'POST', body })
      expect(response.status).toBe(200)
      const { content, ...summary } = await response.json()
      answered.push(summary)
    }
    for (let i = 0; i < 5; i++) await Promise.all([create(), create(), create()])
    await gateway.end('SIGKILL')
    const again = await startProcess(folder, { DATA_DIR: dataDir })
    const listed = await fetch(`${again.url}/api/v1/get-latest-campaign${query}&limit=100`)
    expect(await listed.json()).toEqual(expect.arrayContaining(answered))
    await again.end('SIGKILL')
  }
  expect(answered).toHaveLength(30)
}, 60_000)

// kill -9 does not show whether FULL or NORMAL is set, since the page cache survives it. The order of system calls
// does.
const canTrace = spawnSync('strace', ['-V']).status === 0
test.runIf(canTrace)(
  'the log is flushed to the disk before the answer leaves',
  async () => {
    const gateway = await startProcess(folder, { DATA_DIR: join(folder, 'traced') })
    const file = join(folder, 'trace')
    const tracer = spawn('strace', [
      ...['-f', '-tt', '-y', '-s', '40', '-e', 'trace=write,writev,pwrite64,fsync,fdatasync'],
      ...['-o', file, '-p', `${gateway.process.pid}`],
    ])
    await new Promise<void>((resolve) => {
      tracer.stderr.on('data', (text) => /attached/.test(String(text)) && resolve())
    })
    for (let i = 0; i < 5; i++) expect(await post(gateway, randomUUID())).toBe(true)
    const detached = new Promise((resolve) => tracer.once('exit', resolve))
    tracer.kill('SIGINT')
    await detached
    await gateway.end('SIGKILL')

    const steps = readFileSync(file, 'utf8')
      .split('\n')
      .flatMap((line) =>
        /pwrite64\(\d+<[^>]*events\.db-wal>/.test(line)
          ? ['write']
          : /f(data)?sync\(\d+<[^>]*events\.db-wal>/.test(line)
            ? ['sync']
            : /HTTP\/1\.1 200/.test(line)
              ? ['answer']
              : [],
      )
      .join(' ')
    expect(steps).toMatch(/^((write )+sync (sync )*answer ?){5}$/)
  },
  30_000,
)

if (!canTrace) console.warn('strace is missing: the order of fsync and answer was not checked')
