// What the follower of the reports costs an event, beside its targets. Then the report of a campaign from a log of a million
// events: time of the first report and of later ones, and the effect of following the log on appends. On one core if
// taskset is installed. --events 100000 for a shorter run, --step follower for the first part only.
import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import Database from 'better-sqlite3'
import type { Reports } from '../../src/gateway/campaigns/report.ts'
import { makeEventId } from '../../src/gateway/collect/eventId.ts'
import type { LogEvent } from '../../src/gateway/collect/eventLog.ts'
import { createGroupCommit } from '../../src/gateway/collect/groupCommit.ts'
import { Unavailable } from '../../src/gateway/lib/unavailable.ts'
import { toCells } from '../../src/gateway/sqlite/cells.ts'
import { createSqliteLog } from '../../src/gateway/sqlite/eventLog.ts'
import { openReportStore } from '../../src/gateway/sqlite/reportStore.ts'
import { createSqliteReports } from '../../src/gateway/sqlite/reports.ts'
import { openStore } from '../../src/gateway/sqlite/store.ts'
import { startSqliteThread } from '../../src/gateway/sqlite/thread.ts'
import { makeCampaign, utmOf } from '../benchEvents.ts'
import { measureFollower } from '../benchFollower.ts'
import { line, median } from '../benchPages.ts'
import { makeFolder } from '../gateway.ts'
import { createRandom } from '../random.ts'

const { values } = parseArgs({
  options: {
    events: { type: 'string', default: '1000000' },
    /** Runs only one step, in this process: `follower`, `fill` or `measure`. Default: all steps. */
    step: { type: 'string' },
    folder: { type: 'string', default: '' },
    /** Share of the visits that come from a campaign. */
    share: { type: 'string', default: '0.3' },
    campaigns: { type: 'string', default: '10' },
  },
})
const EVENTS = Number(values.events)
const SHARE = Number(values.share)
const CAMPAIGNS = Number(values.campaigns)
const TARGET_MS = 300
/** Reports that are read, of each kind. */
const READS = 200
/** Events per second that are stored meanwhile. */
const OFFERED = 1_000
/** Events a transaction, as in reportWorker.ts. */
const SLICE = 5_000
/** Events of another customer, stored at once. */
const FLOOD = 50_000
const ROUNDS = 6
const ROUND_MS = 2_000
const files = {
  eventsFile: join(values.folder, 'events.db'),
  reportsFile: join(values.folder, 'reports.db'),
}

if (values.step === 'fill') fill()
else if (values.step === 'measure') await measure()
else if (values.step === 'follower') measureFollower(Math.min(500_000, EVENTS))
else {
  run('follower', [], true)
  for (const [name, share, campaigns] of [
    ['none of a campaign', '0', '1'],
    ['a tenth of one campaign', '0.1', '1'],
    ['10 campaigns, 7 of 10 visits without one', '0.3', '10'],
    ['all of one campaign', '1', '1'],
  ] as const) {
    const folder = makeFolder('report')
    console.log(`\n${EVENTS} events of ${Math.round(EVENTS / 4)} devices, ${name}`)
    const args = ['--folder', folder, '--share', share, '--campaigns', campaigns]
    run('fill', args, false)
    run('measure', args, true)
    rmSync(folder, { recursive: true })
  }
}

function run(step: string, args: readonly string[], isOneCore: boolean): void {
  const runner = fileURLToPath(new URL('../run.mjs', import.meta.url))
  const program = [runner, fileURLToPath(import.meta.url), '--step', step, '--events', `${EVENTS}`]
  const node = [process.execPath, ...program, ...args]
  const hasTaskset = spawnSync('taskset', ['-c', '0', 'true']).status === 0
  const [command = '', ...rest] = isOneCore && hasTaskset ? ['taskset', '-c', '0', ...node] : node
  const { status } = spawnSync(command, rest, { stdio: 'inherit' })
  if (status !== 0) process.exit(1)
}

/** Fills the log with a month of a shop: parallel sessions, some returning devices, some late events. */
function fill(): void {
  const store = openStore(files.eventsFile)
  const next = createVisitors('demo')
  const start = Date.now() - 30 * 86_400_000
  const late: LogEvent[] = []
  let batch: LogEvent[] = []
  for (let i = 0; i < EVENTS; i++) {
    const event = next(Math.round(start + (i / EVENTS) * 30 * 86_400_000))
    if (i % 50 === 0) late.push(event)
    else batch.push(event)
    if (late.length > 20) batch.push(...late.splice(0, 1))
    if (batch.length < 2_000) continue
    store.append(toCells(batch))
    batch = []
  }
  store.append(toCells([...batch, ...late]))
  for (let n = 0; n < CAMPAIGNS; n++) store.createCampaign(makeCampaign('demo', n))
  store.close()
}

/** Stores events of another customer. Only that customer's report has to wait for them. */
function flood(): void {
  const store = openStore(files.eventsFile)
  const next = createVisitors('flooded')
  for (let i = 0; i < FLOOD; i += 2_000)
    store.append(toCells(Array.from({ length: 2_000 }, () => next(Date.now()))))
  store.close()
}

/** @returns A function that makes the next event. */
function createVisitors(customer: string): (at: number) => LogEvent {
  const random = createRandom(5)
  const devices: string[] = []
  const sessions = Array.from({ length: 200 }, open)

  function open() {
    const isNew = devices.length === 0 || random.chance(0.85)
    const did = isNew ? randomUUID() : random.pick(devices)
    if (isNew) devices.push(did)
    return { did, left: 1 + random.below(6), page: random.chance(SHARE) ? landing() : '/' }
  }

  function landing(): string {
    return `/?${new URLSearchParams(utmOf(random.below(CAMPAIGNS)))}`
  }

  const kinds = [
    ['viewProduct', 'view_product'],
    ['viewProduct', 'view_product'],
    ['viewHomepage', 'view_page'],
    ['search', 'search'],
    ['addToCart', 'add_to_cart'],
    ['initiateCheckout', 'initiate_checkout'],
    ['setEmail', 'set_email'],
  ] as const

  return (at) => {
    const place = random.below(sessions.length)
    const session = sessions[place] ?? open()
    const isLanding = session.page !== ''
    const [operation, event] = isLanding ? kinds[2] : random.pick(kinds)
    const payload = JSON.stringify({
      did: session.did,
      event,
      url: `https://shop.example${session.page || `/products/${random.below(5_000)}?sort=price`}`,
      http_user_agent:
        'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36',
      remote_addr: '203.0.113.7',
      product_id: random.below(5_000),
      quantity: 1,
      variation: { id: '12-1', sku: 'MUG-COBALT' },
    })
    session.page = ''
    session.left--
    if (session.left <= 0) sessions[place] = open()
    return {
      customer,
      id: makeEventId(at),
      at,
      receivedAt: at,
      operation,
      event,
      did: session.did,
      bot: false,
      version: null,
      payload,
    }
  }
}

async function measure(): Promise<void> {
  const rssBefore = process.memoryUsage.rss()
  let rss = 0
  const watching = setInterval(() => {
    rss = Math.max(rss, process.memoryUsage.rss())
  }, 20)
  const store = openReportStore(files)
  const begun = performance.now()
  const spent = process.cpuUsage()
  let events = 0
  for (let isDone = false; !isDone; ) {
    const progress = store.follow(SLICE)
    isDone = progress.isDone
    events += progress.events
  }
  store.close()
  const seconds = (performance.now() - begun) / 1000
  const { user, system } = process.cpuUsage(spent)
  console.log(line('', 's', 'events/s', 'CPU, µs/event'))
  const rate = Math.round(events / seconds)
  const cpu = ((user + system) / events).toFixed(1)
  console.log(line('log read for the first time', seconds.toFixed(1), rate, cpu))
  await measureFirst(events)
  let reports = openReports()
  const asked = performance.now()
  const first = await patiently(reports)
  const firstMs = performance.now() - asked
  console.log(line('visitors of the campaign', first.visitors, `${first.days.length} days`))
  console.log(line('memory of the process, above its start', megabytes(rss - rssBefore)))
  clearInterval(watching)

  // The log as in the gateway: a queue in front of its thread.
  const workerFile = new URL('../../dist/sqlite-worker.js', import.meta.url)
  const thread = await startSqliteThread(files.eventsFile, workerFile)
  const log = createGroupCommit(createSqliteLog(thread))
  const next = createVisitors('demo')
  const append = (count: number) =>
    log.append(Array.from({ length: count }, () => next(Date.now())))

  const still: number[] = []
  for (let i = 0; i < READS; i++) still.push(await timed(() => reports.read('demo', utmOf(0))))
  const live: number[] = []
  const appending = setInterval(() => append(OFFERED / 20), 50)
  const random = createRandom(7)
  for (let i = 0; i < READS; i++) {
    await sleep(50 + random.below(200))
    live.push(await timed(() => reports.read('demo', utmOf(0))))
  }
  clearInterval(appending)
  flood()
  const flooded: number[] = []
  for (let i = 0; i < READS / 4; i++) {
    await sleep(10)
    flooded.push(await timed(() => reports.read('demo', utmOf(0))))
  }
  await patiently(reports, 'flooded')
  // For comparison: other programs on this core delay bare computing as much as a report.
  const computing = Array.from({ length: READS }, () => timedSync(() => compute(median(live))))
  const database = new Database(files.eventsFile, { readonly: true })
  const one = database.prepare('SELECT * FROM events WHERE seq = ?')
  const bare = Array.from({ length: READS }, (_, i) => timedSync(() => one.get(1 + i * 100)))
  const scan = timedSync(() =>
    database
      .prepare(
        `SELECT count(*), count(DISTINCT did) FROM events
         WHERE customer = 'demo' AND payload LIKE '%utm_campaign=campaign+0&%'`,
      )
      .get(),
  )
  database.close()
  console.log(line('one report, ms', 'median', 'p99', 'longest'))
  for (const [name, all] of [
    ['the first one', [firstMs]],
    ['nothing new', still],
    [`with ${OFFERED} new events a second`, live],
    [`after ${FLOOD} events of another customer`, flooded],
    ['(one row of the log by its key)', bare],
    ['(as much bare computing)', computing],
    ['(only the landings, by a scan)', [scan]],
  ] as const)
    console.log(
      line(name, median(all).toFixed(2), p99(all).toFixed(1), Math.max(...all).toFixed(1)),
    )
  const worst = Math.max(firstMs, ...still, ...live, ...flooded)
  console.log(`target: the longest under ${TARGET_MS} ms: ${worst < TARGET_MS ? 'kept' : 'MISSED'}`)

  const rates: Record<string, number[]> = { 'not followed': [], followed: [] }
  const waits: Record<string, number[]> = { 'not followed': [], followed: [] }
  await reports.close()
  for (let round = 0; round < ROUNDS; round++)
    for (const name of ['not followed', 'followed']) {
      reports = openReports()
      if (name === 'followed') {
        reports.follow()
        await patiently(reports)
      }
      rates[name]?.push(await saturate(append))
      waits[name]?.push(...(await offer(append)))
      await reports.close()
    }
  console.log(line('appends', 'events/s', 'wait p50, ms', 'p99, ms'))
  for (const [name, all] of Object.entries(rates)) {
    const waited = waits[name] ?? []
    console.log(
      line(name, Math.round(median(all)), median(waited).toFixed(2), p99(waited).toFixed(2)),
    )
  }
  await log.close()
  console.log(line('size of the log', megabytes(statSync(files.eventsFile).size)))
  console.log(line('size of the reports', megabytes(statSync(files.reportsFile).size)))
}

/** The first report over a log that nobody has read, by the thread: as after an upgrade, or with the first campaign. */
async function measureFirst(events: number): Promise<void> {
  const reportsFile = join(values.folder, 'reports-first.db')
  const reports = openReports(reportsFile)
  const begun = performance.now()
  const spent = process.cpuUsage()
  await patiently(reports)
  const seconds = (performance.now() - begun) / 1000
  const { user, system } = process.cpuUsage(spent)
  const cpu = ((user + system) / events).toFixed(1)
  await reports.close()
  for (const end of ['', '-wal', '-shm']) rmSync(reportsFile + end, { force: true })
  console.log(
    line('a report that waits for this', seconds.toFixed(1), Math.round(events / seconds), cpu),
  )
}

function openReports(reportsFile = files.reportsFile): Reports {
  const workerFile = new URL('../../dist/report-worker.js', import.meta.url)
  return createSqliteReports({ ...files, reportsFile, workerFile, writeClosed: async () => false })
}

/** Reads a report, and waits as long as the log is still being read. */
async function patiently(reports: Reports, customer = 'demo') {
  for (;;)
    try {
      return await reports.read(customer, utmOf(0))
    } catch (error) {
      if (!(error instanceof Unavailable) || error.cause) throw error
    }
}

/** Appends as many events as possible, 64 at a time. @returns Events per second. */
async function saturate(append: (count: number) => Promise<unknown>): Promise<number> {
  const end = performance.now() + ROUND_MS
  let stored = 0
  await Promise.all(
    Array.from({ length: 64 }, async () => {
      while (performance.now() < end) {
        await append(1)
        stored++
      }
    }),
  )
  return stored / (ROUND_MS / 1000)
}

/** Appends OFFERED events a second, one by one. @returns The time of each append, ms. */
async function offer(append: (count: number) => Promise<unknown>): Promise<number[]> {
  const end = performance.now() + ROUND_MS
  const waits: Promise<number>[] = []
  while (performance.now() < end) {
    for (let i = 0; i < OFFERED / 200; i++) waits.push(timed(() => append(1)))
    await sleep(5)
  }
  return Promise.all(waits)
}

async function timed(run: () => Promise<unknown>): Promise<number> {
  const begun = performance.now()
  await run()
  return performance.now() - begun
}

/** Uses CPU time, ms, however long that takes by the clock. */
function compute(ms: number): void {
  const begun = process.cpuUsage()
  for (;;) {
    const { user, system } = process.cpuUsage(begun)
    if (user + system >= ms * 1000) return
  }
}

function timedSync(run: () => unknown): number {
  const begun = performance.now()
  run()
  return performance.now() - begun
}

function p99(all: readonly number[]): number {
  const sorted = [...all].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(0)} MB`
}
