import { setImmediate as nextTurn } from 'node:timers/promises'
import { workerData } from 'node:worker_threads'
import type { ReportFigures } from '../campaigns/report.ts'
import type { Utm } from '../campaigns/utm.ts'
import { serve } from './remote.ts'
import { openReportStore, type ReportFiles, type ReportStore } from './reportStore.ts'

/** The `workerData` of the thread. */
export type Start = ReportFiles & { readonly patienceMs: number }

/** The functions of the thread. */
export type Served = {
  /** Resolves once the customer's events are read, or after `patienceMs` with the progress. */
  read(customer: string, tracking: Utm): Promise<ReportFigures | Behind>
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

/**
 * The thread that follows the log. It uses at most a quarter of a core, since appends are more urgent. A report waits
 * only for the events of its own customer that were stored before it was requested, and takes turns with other reports.
 */
const { patienceMs, ...files } = workerData as Start
let store: ReportStore | undefined
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
    if (!isDone) pause = 3 * (performance.now() - begun)
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

function close(): void {
  clearTimeout(timer)
  store?.close()
}

serve<Served>({ read, close })
