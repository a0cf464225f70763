import { execFileSync, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { closeSync, mkdirSync, openSync, rmdirSync, rmSync, statfsSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { runCommand } from '../test/command.ts'
import { type GatewayProcess, makeFolder, prepareGateway, startProcess } from '../test/gateway.ts'

/** A gateway whose disk is nearly full, full, and has room again. */
let prepared: Awaited<ReturnType<typeof prepareGateway>>
let folder: string
const mounted: string[] = []
const running: GatewayProcess[] = []

beforeAll(async () => {
  prepared = await prepareGateway()
  folder = prepared.folder
})
afterAll(async () => {
  for (const { process } of running) process.kill('SIGKILL')
  for (const path of mounted) spawnSync('umount', ['-l', path])
  await prepared.end()
})

const MIB = 2 ** 20
const NO_LIMITS = {
  ADDRESS_EVENTS_PER_SECOND: '1000000',
  ADDRESS_BYTES_PER_SECOND: '1000000000',
  CUSTOMER_EVENTS_PER_SECOND: '1000000',
  CUSTOMER_BYTES_PER_SECOND: '1000000000',
}
const SOON = { timeout: 30_000, interval: 100 }

/** Mounts a small disk. */
function mountDisk(name: string): string {
  const path = join(folder, name)
  mkdirSync(path)
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64m', 'tmpfs', path])
  mounted.push(path)
  return path
}

/** Whether this process may mount a disk. */
function canMount(): boolean {
  const path = makeFolder()
  const { status } = spawnSync('mount', ['-t', 'tmpfs', 'tmpfs', path])
  if (status === 0) execFileSync('umount', [path])
  rmdirSync(path)
  return status === 0
}
const MAY_MOUNT = canMount()

const leftOn = (path: string): number => {
  const { bavail, bsize } = statfsSync(path)
  return bavail * bsize
}

/** Fills a disk with a file until this much is left, bytes. Returns what removes it. */
function fill(disk: string, left: number): () => void {
  const file = join(disk, 'filler')
  const descriptor = openSync(file, 'w')
  try {
    for (let more = leftOn(disk) - left; more > 0; more = leftOn(disk) - left)
      writeSync(descriptor, Buffer.alloc(Math.min(more, MIB)))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  } finally {
    closeSync(descriptor)
  }
  return () => rmSync(file)
}

/** What a full disk is made of: how to begin and to end it, for a process. */
type Fullness = {
  readonly dataDir: string
  readonly fill: (gateway: GatewayProcess) => () => void
}
/** Files may not grow: for machines where no disk can be mounted. SQLite gets another error than that of a full disk. */
const limitFiles = (): Fullness => ({
  dataDir: join(folder, 'limited'),
  fill({ process: { pid } }) {
    const limit = (bytes: number | 'unlimited') =>
      execFileSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}:unlimited`])
    limit(65_536)
    return () => limit('unlimited')
  },
})
const fillDisk = (disk: string): Fullness => ({
  dataDir: join(disk, 'data'),
  fill: () => fill(disk, 0),
})

async function start(env: Record<string, string>): Promise<GatewayProcess> {
  const gateway = await startProcess(folder, env)
  running.push(gateway)
  return gateway
}

const post = async ({ url }: GatewayProcess, id: string): Promise<Response> =>
  fetch(`${url}/t/r?k=DEMOSHOP&id=${id}&p=invalid,addToCart,quantity,/p/1`, {
    method: 'POST',
    headers: { origin: url, 'content-type': 'text/plain' },
    body: JSON.stringify({
      did: 'd-1',
      event: 'search',
      search_term: 'x'.repeat(2_000),
      url: `${url}/`,
      http_user_agent: 'UA/1',
    }),
  })
const readiness = async ({ url }: { readonly url: string }) => {
  const response = await fetch(`${url}/readyz`)
  return { status: response.status, text: await response.text() }
}

/** What uses other files: a visit without consent (salt.db), and a report (reports.db). Both return a status. */
async function prepareMore({ url, output }: GatewayProcess, env: Record<string, string>) {
  const config = '{"consent":"cookieless"}'
  const options = ['--tracking-key', 'COOKLESS', '--origin', 'loopback', '--config', config]
  expect(runCommand(['customer', 'add', ...options], env).status).toBe(0)
  const [, key] = /REST key +(\S+)/.exec(output()) ?? []
  const latest = await fetch(`${url}/api/v1/get-latest-campaign?k=${key}&u=demo`)
  const [{ id }] = await latest.json()
  const body = JSON.stringify({ event: 'view_homepage', url: `${url}/`, http_user_agent: 'UA/1' })
  return {
    async visit() {
      const sent = { method: 'POST', headers: { origin: url }, body }
      return (await fetch(`${url}/t/r?k=COOKLESS`, sent)).status
    },
    async report() {
      const path = `/api/v1/campaigns/${id}/email/get-report?k=${key}&u=demo`
      return (await fetch(url + path)).status
    },
  }
}

test('a full disk is 503, loses nothing that was acknowledged, and is used again when it has room', async () => {
  const full = MAY_MOUNT ? fillDisk(mountDisk('full')) : limitFiles()
  const env = { ...NO_LIMITS, DATA_DIR: full.dataDir, DISK_RESERVE_BYTES: '0' }
  const gateway = await start(env)
  const more = await prepareMore(gateway, env)
  const acknowledged: string[] = []
  const statuses = new Set<number>()
  let newest = 0
  let isOver = false
  onTestFinished(() => {
    isOver = true
  })
  async function write(): Promise<void> {
    while (!isOver) {
      const id = randomUUID()
      const response = await post(gateway, id)
      await response.text()
      newest = response.status
      statuses.add(newest)
      if (newest === 200) acknowledged.push(id)
      else expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
    }
  }
  const writers = Array.from({ length: 3 }, write)
  await expect.poll(() => acknowledged.length, SOON).toBeGreaterThan(100)
  const release = full.fill(gateway)
  await expect.poll(() => newest, SOON).toBe(503)
  await expect.poll(async () => (await readiness(gateway)).status, SOON).toBe(503)
  // The secret of the day can not be stored, the file of the reports can not be made: no crash.
  expect(await more.visit()).toBe(503)
  expect([200, 503]).toContain(await more.report())
  release()
  await expect.poll(more.visit, SOON).toBe(200)
  await expect.poll(more.report, SOON).toBe(200)
  const before = acknowledged.length
  await expect.poll(() => acknowledged.length, SOON).toBeGreaterThan(before + 20)
  await expect.poll(async () => (await readiness(gateway)).status, SOON).toBe(200)
  isOver = true
  await Promise.all(writers)
  expect([...statuses].sort()).toEqual([200, 503])
  expect(await gateway.end('SIGKILL')).toBe(null)

  const database = new Database(join(full.dataDir, 'events.db'))
  const ids = database.prepare<[], string>('SELECT lower(hex(id)) FROM events').pluck().all()
  expect(database.pragma('integrity_check', { simple: true })).toBe('ok')
  database.close()
  const stored = new Set(ids)
  expect(acknowledged.filter((id) => !stored.has(id.replaceAll('-', '')))).toEqual([])
})

// Without a disk of its own: disk.test.ts, with numbers in place of a disk.
if (MAY_MOUNT)
  test('the reserve of the disk is announced, kept from events, and has room for commands', async () => {
    const disk = mountDisk('reserve')
    const dataDir = join(disk, 'data')
    const gateway = await start({ DATA_DIR: dataDir, DISK_RESERVE_BYTES: `${4 * MIB}` })
    expect((await post(gateway, randomUUID())).status).toBe(200)
    const release = fill(disk, 10 * MIB)
    await expect.poll(gateway.output, SOON).toContain('The disk is nearly full')
    expect((await readiness(gateway)).status).toBe(200)
    expect((await post(gateway, randomUUID())).status).toBe(200)
    release()
    const releaseAll = fill(disk, 3 * MIB)
    await expect.poll(gateway.output, SOON).toContain('The disk is full: events are refused')
    const id = randomUUID()
    expect((await post(gateway, id)).status).toBe(503)
    expect(await readiness(gateway)).toMatchObject({
      status: 503,
      text: expect.stringContaining('only the reserve is left (DISK_RESERVE_BYTES)'),
    })
    expect((await fetch(`${gateway.url}/t/j/DEMOSHOP`)).status).toBe(200)
    const add = ['customer', 'add', '--id', 'late', '--origin', 'https://late.example']
    expect(runCommand(add, { DATA_DIR: dataDir }).status).toBe(0)
    releaseAll()
    await expect.poll(async () => (await post(gateway, id)).status, SOON).toBe(200)
    await expect.poll(async () => (await readiness(gateway)).status, SOON).toBe(200)
    expect(gateway.output()).toContain('The disk has room again')
    expect(await gateway.end('SIGTERM')).toBe(0)
  })

if (MAY_MOUNT)
  test('a gateway that starts on a full disk answers 503, and continues when there is room', async () => {
    const disk = mountDisk('start')
    const dataDir = join(disk, 'data')
    const first = await prepared.start({ dataDir })
    first.customers.add({ customerId: 'shop', trackingKey: 'SHOPKEY1', origins: [] })
    await first.close()
    const release = fill(disk, 0)
    const gateway = await prepared.start({ dataDir })
    expect(await readiness(gateway)).toMatchObject({
      status: 503,
      text: expect.stringContaining('The disk of the gateway is full'),
    })
    expect((await fetch(`${gateway.url}/livez`)).status).toBe(200)
    const list = runCommand(['customer', 'list'], { DATA_DIR: dataDir })
    expect([list.status, list.stderr]).toEqual([
      1,
      expect.stringContaining('can not grow: the disk is full. Make room'),
    ])
    release()
    await expect.poll(async () => (await readiness(gateway)).status, SOON).toBe(200)
    expect(gateway.customers.find('shop')).toBeDefined()
  })
