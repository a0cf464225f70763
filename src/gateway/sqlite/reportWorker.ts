import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { workerData } from 'node:worker_threads'
import type { ReportFigures } from '../campaigns/report.ts'
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
  read(customer: string, tracking: Utm): Promise<ReportFigures | Behind>
  /** Resolves with the figures that are not closed yet. Undefined if they are. May take minutes. */
  sum(customer: string, until: number): Promise<Closing | undefined>
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
 * Events in a transaction, which takes about 40 ms. Other reports, and other gateways over the same folder, wait for
 * it.
 */
const SLICE_EVENTS = 4_000
/** Time between two checks for new events, ms. A transaction with more events writes fewer pages for each of them. */
const CHECK_MS = 1_000
/** Time until the next try after a failure, ms. */
const RETRY_MS = 5_000
/** Devices whose touches are deleted in a transaction. */
const FORGOTTEN_DEVICES = 500

/**
 * The thread that follows the log. It uses at most a quarter of a core, since appends are more urgent. A report waits
 * only for the events of its own customer that were stored before it was requested, and takes turns with other reports.
 */
const { patienceMs, ...files } = workerData as Start
let store: ReportStore | undefined
/** Whether the -wal may contain what was deleted. A process may have ended before it was emptied. */
let mustClear = true
let timer = setTimeout(follow, 0)

const opened = (): ReportStore => {
  store ??= openReportStore(files)
  return store
}

function follow(): void {
  const begun = performance.now()
  let pause = CHECK_MS
  try {
    const { isDone } = opened().follow(SLICE_EVENTS)
    const isForgetting = opened().forgetClosed(FORGOTTEN_DEVICES)
    if (isForgetting) mustClear = true
    else if (mustClear) mustClear = !opened().clearWal()
    if (!isDone || isForgetting) pause = 3 * (performance.now() - begun)
  } catch {
    // The next report fails in the same way, and has the reason.
    pause = RETRY_MS
  }
  timer = setTimeout(follow, pause)
}

async function read(customer: string, tracking: Utm): Promise<ReportFigures | Behind> {
  const until = performance.now() + patienceMs
  const end = opened().end(customer)
  for (;;) {
    if (opened().position(customer) < end) opened().follow(SLICE_EVENTS, customer)
    const figures = opened().read(customer, tracking, end)
    if (figures) return figures
    if (performance.now() >= until) return { seq: opened().position(customer), end }
    await nextTurn()
  }
}

async function sum(customer: string, until: number): Promise<Closing | undefined> {
  while (!opened().follow(SLICE_EVENTS, customer).isDone) await nextTurn()
  const plan = opened().planClosing(customer)
  if (plan.since >= until) return undefined
  const sums = new Map<number, ReturnType<typeof createSum<string>>>()
  const figures: { utm: Uint8Array; sum: ReturnType<typeof createSum<string>> }[] = []
  for (const block of plan.blocks) {
    const begun = performance.now()
    const part = opened().closeBlock(plan, block, until)
    const known = sums.get(block.number)
    const added = known ?? createSum<string>()
    added.add(part)
    if (!known) {
      sums.set(block.number, added)
      figures.push({ utm: hashOfUtm(customer, block.utm), sum: added })
    }
    await sleep(3 * (performance.now() - begun))
  }
  return {
    customer,
    since: plan.since,
    until,
    figures: figures.map(({ utm, sum }) => ({ utm, part: sum.part() })),
  }
}

function close(): void {
  clearTimeout(timer)
  store?.close()
}

serve<Served>({ read, sum, close })
