import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { workerData } from 'node:worker_threads'
import type { ReportFigures } from '../campaigns/report.ts'
import { DEFAULT_VIEW, type ReportView } from '../campaigns/reportView.ts'
import type { Utm } from '../campaigns/utm.ts'
import type { Closing } from './closedFigures.ts'
import { serve } from './remote.ts'
import { hashOfUtm } from './reportNumbers.ts'
import { openReportStore, type ReportFiles, type ReportStore } from './reportStore.ts'
import { createSum } from './reportSums.ts'

/** The `workerData` of the thread. */
export type Start = ReportFiles & { readonly patienceMs: number }

/** The functions of the thread. */
export type Served = {
  /** Resolves once the customer's events are read, or after `patienceMs` with the progress. */
  read(customer: string, tracking: Utm, view?: ReportView): Promise<ReportFigures | Behind>
  /** Positions of the log that are not read yet. */
  lag(): number
  /** Resolves with the figures that are not closed yet. Undefined if they are. May take minutes. */
  sum(customer: string, until: number, timeZone: string): Promise<Closing | undefined>
  close(): void
}

/** The progress: positions in the log. */
export type Behind = {
  /** The customer's events are read up to this one. */
  readonly seq: number
  /** They must be read up to this one. */
  readonly end: number
}

/**
 * Events in a transaction, which takes 10 to 40 ms. Other reports, and other gateways over the same folder, wait for it.
 */
const SLICE_EVENTS = 5_000
/** Time between two checks for new events, ms. A transaction with more events writes fewer pages for each of them. */
const CHECK_MS = 1_000
/** Time without work after some work, as a multiple of its duration: a quarter of a core is used at most. */
const PAUSE_FACTOR = 3
/** The same while a report waits: two thirds of a core. */
const WAITED_PAUSE_FACTOR = 0.5
/** Time until the next try after a failure, ms. */
const RETRY_MS = 5_000

/**
 * The thread that follows the log. It uses a part of a core, since appends are more urgent. A report waits only for the
 * events of its own customer that were stored before it was requested, and takes turns with other reports.
 */
const { patienceMs, ...files } = workerData as Start
let store: ReportStore | undefined
/** Whether the -wal may contain what was deleted. A process may have ended before it was emptied. */
let mustClear = true
let isClosed = false
let timer = setTimeout(follow, 0)
/** The customers whose events are being read for a report. */
const reading = new Map<string, Promise<void>>()

const opened = (): ReportStore => {
  store ??= openReportStore(files)
  return store
}

function follow(): void {
  const begun = performance.now()
  let pause: number
  try {
    // A report that waits is more urgent than events that nobody waits for.
    const isDone = reading.size > 0 || opened().follow(SLICE_EVENTS).isDone
    const isForgetting = opened().forgetClosed() || opened().forgetSwept()
    if (isForgetting) mustClear = true
    else if (mustClear) mustClear = !opened().clearWal()
    pause = PAUSE_FACTOR * (performance.now() - begun)
    if (isDone && !isForgetting) pause = Math.max(CHECK_MS, pause)
  } catch {
    // The next report fails in the same way, and has the reason.
    pause = RETRY_MS
  }
  if (!isClosed) timer = setTimeout(follow, pause)
}

/** Reads a customer's events up to a position, also when nobody waits for them any more. */
async function readUpTo(customer: string, end: number): Promise<void> {
  while (!isClosed && opened().position(customer) < end) {
    const begun = performance.now()
    opened().follow(SLICE_EVENTS, customer)
    // A short report does not wait for a timer.
    if (opened().position(customer) < end)
      await sleep(WAITED_PAUSE_FACTOR * (performance.now() - begun))
  }
}

async function read(
  customer: string,
  tracking: Utm,
  view = DEFAULT_VIEW,
): Promise<ReportFigures | Behind> {
  const until = performance.now() + patienceMs
  const end = opened().end(customer)
  for (;;) {
    if (opened().position(customer) < end) await readOrWait(customer, end, until)
    const figures = opened().read(customer, tracking, end, view)
    if (figures) return figures
    if (performance.now() >= until) return { seq: opened().position(customer), end }
    await nextTurn()
  }
}

/** Resolves when the customer's events are read up to `end`, or at the time `until`. */
async function readOrWait(customer: string, end: number, until: number): Promise<void> {
  let read = reading.get(customer)
  if (!read) {
    read = readUpTo(customer, end).finally(() => reading.delete(customer))
    reading.set(customer, read)
  }
  const giveUp = new AbortController()
  try {
    await Promise.race([
      read,
      sleep(Math.max(0, until - performance.now()), undefined, { signal: giveUp.signal }),
    ])
  } finally {
    giveUp.abort()
  }
}

/** Runs a step, then pauses. */
async function paced<Result>(step: () => Result): Promise<Result> {
  const begun = performance.now()
  const result = step()
  await sleep(PAUSE_FACTOR * (performance.now() - begun))
  return result
}

async function sum(
  customer: string,
  until: number,
  timeZone: string,
): Promise<Closing | undefined> {
  // Without a campaign there are no figures, and its events need not be read.
  if (opened().hasCampaign(customer)) await readUpTo(customer, opened().end(customer))
  const plan = opened().planClosing(customer, timeZone)
  if (plan.since >= until) return undefined
  const sums = new Map<number, ReturnType<typeof createSum<string>>>()
  const figures: { utm: Uint8Array; sum: ReturnType<typeof createSum<string>> }[] = []
  for (const block of plan.blocks) {
    while (await paced(() => opened().joinBlock(block)));
    const part = await paced(() => opened().closeBlock(plan, block, until))
    const known = sums.get(block.number)
    const added = known ?? createSum<string>()
    added.add(part)
    if (!known) {
      sums.set(block.number, added)
      figures.push({ utm: hashOfUtm(customer, block.utm, block.isBot), sum: added })
    }
  }
  return {
    customer,
    since: plan.since,
    until,
    figures: figures.map(({ utm, sum }) => ({ utm, part: sum.part() })),
  }
}

function close(): void {
  isClosed = true
  clearTimeout(timer)
  store?.close()
}

serve<Served>({ lag: () => opened().lag(), read, sum, close })
