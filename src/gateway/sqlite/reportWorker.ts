import { setImmediate as nextTurn } from 'node:timers/promises'
import { workerData } from 'node:worker_threads'
import type { ReportFigures } from '../campaigns/report.ts'
import type { Utm } from '../campaigns/utm.ts'
import { serve } from './remote.ts'
import { openReportStore, type ReportFiles, type ReportStore } from './reportStore.ts'

/** What the thread is started with. */
export type Start = ReportFiles & { readonly patienceMs: number }

/** The functions of the thread. */
export type Served = {
  /** Resolves once the customer's events are read, or after `patienceMs` with how far that is. */
  read(customer: string, tracking: Utm): Promise<ReportFigures | Behind>
  close(): void
}

/** Positions in the log. */
export type Behind = {
  /** Up to which the customer's events are read. */
  readonly seq: number
  /** Up to which they must be. */
  readonly end: number
}

/** Events a transaction, some 40 ms: other reports, and other gateways over the same folder, wait for one. */
const SLICE = 4_000
/** Time between two looks for new events, ms. The more events a transaction has, the fewer pages an event writes. */
const LOOK_MS = 1_000
/** Time after which it is tried again after a failure, ms. */
const PAUSE_MS = 5_000

/**
 * The thread that follows the log, with a quarter of a core at most: appends come first. A report waits only for the
 * events of its own customer that were stored before it was asked for, and takes turns with other reports.
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
  let pause = LOOK_MS
  try {
    const { isDone } = opened().follow(SLICE)
    if (!isDone) pause = 3 * (performance.now() - begun)
  } catch {
    // The next report fails in the same way, and says why.
    pause = PAUSE_MS
  }
  timer = setTimeout(follow, pause)
}

async function read(customer: string, tracking: Utm): Promise<ReportFigures | Behind> {
  const until = performance.now() + patienceMs
  const end = opened().end(customer)
  for (;;) {
    if (opened().position(customer) < end) opened().follow(SLICE, customer)
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
