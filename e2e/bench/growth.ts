// Whether the cost of an event depends on how many are stored. Fills a log through the store's own append, and prints a
// line at each size. Appends are compared with appends to an empty log in the same run, in turns.
//
//   node e2e/run.mjs e2e/bench/growth.ts                       10 thousand, 100 thousand, 1 million: a few minutes
//   node e2e/run.mjs e2e/bench/growth.ts --sizes 10000,100000,1000000,10000000
//
// Ten million events take 10 GB below test-results/tmp, which is removed at the end.
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { LogEvent } from '../../src/gateway/collect/eventLog.ts'
import { createGroupCommit } from '../../src/gateway/collect/groupCommit.ts'
import { toCells } from '../../src/gateway/sqlite/cells.ts'
import { createSqliteLog } from '../../src/gateway/sqlite/eventLog.ts'
import { openReportStore, type ReportStore } from '../../src/gateway/sqlite/reportStore.ts'
import { openStore } from '../../src/gateway/sqlite/store.ts'
import { startSqliteThread } from '../../src/gateway/sqlite/thread.ts'
import { createEvents, makeCampaign, utmOf } from '../benchEvents.ts'
import { median } from '../benchPages.ts'
import { makeFolder } from '../gateway.ts'

const { values } = parseArgs({
  options: {
    /** Events in the log, in rising order. */
    sizes: { type: 'string', default: '10000,100000,1000000' },
    /** Share of the events with an id of version 4. */
    v4: { type: 'string', default: '0.1' },
    /** Runs only one step, in this process: `fill` or `measure`. Default: all steps. */
    step: { type: 'string' },
    folder: { type: 'string', default: '' },
    from: { type: 'string', default: '0' },
    to: { type: 'string', default: '0' },
  },
})

const SIZES = values.sizes.split(',').map(Number)
/** A month, however many events there are. */
const LOG_MS = 30 * 86_400_000
const CUSTOMERS = 10
/** Only these have a campaign while the log grows. */
const WITH_CAMPAIGN = ['customer-0', 'customer-1', 'customer-2']
/** Its first campaign is created when the log has its size. */
const FRESH = 'customer-3'
const ROUNDS = 5
/** Events that are appended in a round, and how many at a time. */
const ROUND_EVENTS = 4_000
const AT_ONCE = 64
const VIEWED = 200
const SLICE = 5_000

const eventsFile = join(values.folder, 'events.db')
const reportsFile = join(values.folder, 'reports.db')
const eventsUpTo = (size: number, seed: number) =>
  createEvents({
    customers: CUSTOMERS,
    devices: Math.max(1_000, Math.ceil(size / 8)),
    visitors: 0.3,
    v4: Number(values.v4),
    anywhere: 0.15,
    seed,
  })

const COLUMNS = [
  ['events', 12],
  ['log, MB', 10],
  ['append, µs', 12],
  ['empty, µs', 11],
  ['ratio', 8],
  ['events/s', 10],
  ['live, ms', 10],
  ['follow, µs', 12],
  ['refresh, ms', 13],
  ['first, s', 10],
  ['of events', 11],
  ['start, ms', 11],
  ['rest, MB', 10],
] as const

if (values.step === 'fill') fill(Number(values.from), Number(values.to))
else if (values.step === 'measure') await measure(Number(values.to))
else {
  const folder = makeFolder('growth')
  try {
    console.log(
      'Processor time, but for the rates and sizes. append: with its thread. live: the newest 200 events of a customer.\n' +
        'follow: of each new event for the reports. refresh: a report after it. first: the first report of a customer.\n' +
        'start, rest: a gateway over this log, until it answers, and its memory then.\n',
    )
    console.log(row(COLUMNS.map(([name]) => name)))
    // Makes the files of a gateway.
    await startGateway(folder)
    let from = 0
    for (const to of SIZES) {
      run('fill', folder, from, to)
      run('measure', folder, from, to)
      from = to
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function row(cells: readonly (string | number)[]): string {
  return cells.map((cell, i) => `${cell}`.padStart(COLUMNS[i]?.[1] ?? 10)).join('')
}

function run(step: string, folder: string, from: number, to: number): void {
  const runner = fileURLToPath(new URL('../run.mjs', import.meta.url))
  const options = { step, folder, v4: values.v4, from, to }
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, `${value}`])
  const program = [runner, fileURLToPath(import.meta.url), ...args]
  const { status } = spawnSync(process.execPath, program, { stdio: 'inherit' })
  if (status !== 0) throw new Error(`The step ${step} failed at ${to} events`)
}

function fill(from: number, to: number): void {
  const store = openStore(eventsFile)
  const next = eventsUpTo(to, from + 5)
  const start = Date.now() - LOG_MS
  let batch: LogEvent[] = []
  for (let i = from; i < to; i++) {
    batch.push(next(Math.round(start + (i / to) * LOG_MS)))
    if (batch.length < 2_000 && i < to - 1) continue
    store.append(toCells(batch))
    batch = []
  }
  if (from === 0)
    for (const customer of WITH_CAMPAIGN)
      for (let n = 0; n < 10; n++) store.createCampaign(makeCampaign(customer, n))
  store.close()
}

/** Runs `work`. @returns The processor time of all threads of this process, ms. */
async function spent(work: () => unknown): Promise<number> {
  const begun = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(begun)
  return (user + system) / 1_000
}

async function measure(size: number): Promise<void> {
  const reports = openReportStore({ eventsFile, reportsFile })
  readAll(reports)
  reports.read('customer-0', utmOf(0), 0)

  const next = eventsUpTo(size, size + 7)
  const log = await openLog(eventsFile)
  const empty = await openLog(join(values.folder, `empty-${size}.db`))
  const append: number[] = []
  const bare: number[] = []
  const rates: number[] = []
  const live: number[] = []
  const follow: number[] = []
  const refresh: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const make = () => next(Date.now())
    const events = Array.from({ length: ROUND_EVENTS }, make)
    const begun = performance.now()
    append.push((await spent(() => saturate(log, events))) / ROUND_EVENTS)
    rates.push(ROUND_EVENTS / ((performance.now() - begun) / 1_000))
    const others = Array.from({ length: ROUND_EVENTS }, make)
    bare.push((await spent(() => saturate(empty, others))) / ROUND_EVENTS)
    live.push(
      await spent(async () => {
        const customer = `customer-${round}`
        const { after } = await log.findTail(customer, VIEWED)
        await log.read({ customer, after, max: VIEWED })
      }),
    )
    follow.push((await spent(() => readAll(reports))) / ROUND_EVENTS)
    refresh.push(await spent(() => readReport(reports, 'customer-0')))
  }
  await log.close()
  await empty.close()
  reports.close()

  const store = openStore(eventsFile)
  const counted = store.read({ customer: FRESH, max: 1 }).length
  store.close()
  const freshFile = join(values.folder, 'reports-fresh.db')
  const fresh = openReportStore({ eventsFile, reportsFile: freshFile })
  let ofCustomer = 0
  const first = await spent(() => {
    for (let isDone = counted === 0; !isDone; ) {
      const progress = fresh.follow(SLICE, FRESH)
      isDone = progress.isDone
      ofCustomer += progress.events
    }
    readReport(fresh, FRESH)
  })
  fresh.close()
  for (const end of ['', '-wal', '-shm']) {
    rmSync(freshFile + end, { force: true })
    rmSync(join(values.folder, `empty-${size}.db${end}`), { force: true })
  }
  const { startMs, megabytes } = await startGateway(values.folder)
  const least = (all: readonly number[]) => Math.min(...all)
  console.log(
    row([
      size,
      (statSync(eventsFile).size / 1e6).toFixed(0),
      (least(append) * 1_000).toFixed(1),
      (least(bare) * 1_000).toFixed(1),
      (least(append) / least(bare)).toFixed(2),
      Math.max(...rates).toFixed(0),
      median(live).toFixed(1),
      (least(follow) * 1_000).toFixed(1),
      median(refresh).toFixed(1),
      (first / 1_000).toFixed(2),
      ofCustomer,
      startMs.toFixed(0),
      megabytes.toFixed(0),
    ]),
  )
}

/** The log as in the gateway: a queue in front of its thread. */
async function openLog(file: string) {
  const workerFile = new URL('../../dist/sqlite-worker.js', import.meta.url)
  return createGroupCommit(createSqliteLog(await startSqliteThread(file, workerFile)))
}
type Log = Awaited<ReturnType<typeof openLog>>

async function saturate(log: Log, events: readonly LogEvent[]): Promise<void> {
  let i = 0
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let event = events[i++]; event; event = events[i++]) await log.append([event])
    }),
  )
}

function readAll(reports: ReportStore): void {
  while (!reports.follow(SLICE).isDone);
}

function readReport(reports: ReportStore, customer: string): void {
  while (!reports.read(customer, utmOf(0), 0));
}

/** Starts a gateway over the folder and stops it. @returns The processor time until it answers, and its memory then. */
async function startGateway(dataDir: string): Promise<{ startMs: number; megabytes: number }> {
  const program = fileURLToPath(new URL('../../dist/shoptrail.js', import.meta.url))
  const child = spawn(process.execPath, [program, 'start'], {
    env: { ...process.env, PORT: '0', DATA_DIR: dataDir, DEMO: 'off' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  const url = await new Promise<string>((resolve, reject) => {
    let output = ''
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk
      const found = /"url":"(http:[^"]+)"/.exec(output)?.[1]
      if (found) resolve(found)
    })
    child.once('exit', () => reject(new Error(`The gateway ended: ${output}`)))
  })
  const answer = await fetch(`${url}/livez`)
  if (!answer.ok) throw new Error(`The gateway answers ${answer.status}`)
  const startMs = processorTime(child.pid)
  // Until it has done what it does after a start.
  await sleep(2_000)
  const megabytes = memory(child.pid)
  child.kill('SIGKILL')
  await ended
  return { startMs, megabytes }
}

/** Of a process, ms, in Linux. */
function processorTime(pid: number | undefined): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  // Ticks of 10 ms: utime and stime.
  return (Number(fields[11]) + Number(fields[12])) * 10
}

function memory(pid: number | undefined): number {
  const found = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(found) / 1_000
}
