import { workerData } from 'node:worker_threads'
import type { ReportFigures } from '../campaigns/report.ts'
import type { Utm } from '../campaigns/utm.ts'
import { serve } from './remote.ts'
import { openReportStore, type ReportFiles, type ReportStore } from './reportStore.ts'

/** What the thread is started with. */
export type Start = ReportFiles & { readonly patienceMs: number }

/** The functions of the thread. */
export type Served = {
  /** Resolves once the customer's events are counted, or after `patienceMs` with how far that is. */
  read(customer: string, tracking: Utm): Promise<ReportFigures | Behind>
  close(): void
}

/** Positions in the log. */
export type Behind = {
  /** Up to which the customer's events are counted. */
  readonly seq: number
  /** Up to which they must be. */
  readonly end: number
}

/** Events a transaction: other questions, and other gateways over the same folder, wait for one. */
const SLICE = 500
/** How often it is looked for new events, ms: a report counts at most these itself before it answers. */
const LOOK_MS = 100
/** So many events change up to a thousand pages; to move these to their place takes some 10 ms and an fsync. */
const TIDY_EVENTS = 300
/** After a failure it is tried again so much later, ms, or when somebody asks. */
const PAUSE_MS = 5_000

/** A question, and the position up to which the customer's events must be counted before it is answered. */
type Waiting = {
  readonly customer: string
  readonly tracking: Utm
  readonly end: number
  readonly until: number
  readonly resolve: (read: ReportFigures | Behind) => void
  readonly reject: (error: unknown) => void
}

/**
 * The thread that follows the log: it counts what is new as it comes, with a quarter of a core at most while
 * nobody waits: appends come first. A question is answered once everything of its customer is counted that was
 * stored before it; another customer's events hold it up for one turn each.
 */
const { patienceMs, ...files } = workerData as Start
let store: ReportStore | undefined
const waiting: Waiting[] = []
let next: NodeJS.Immediate | undefined
let later: NodeJS.Timeout | undefined
let pausedUntil = 0
/** Events counted since it was tidied last. */
let untidied = 0
/** When the last question came, by performance.now: who asks once often asks again. */
let asked = 0

const opened = (): ReportStore => {
  store ??= openReportStore(files)
  return store
}

async function read(customer: string, tracking: Utm): Promise<ReportFigures | Behind> {
  asked = performance.now()
  const until = asked + patienceMs
  const end = opened().end(customer)
  return new Promise((resolve, reject) => {
    waiting.push({ customer, tracking, end, until, resolve, reject })
    count()
  })
}

function close(): void {
  clearInterval(looking)
  clearImmediate(next)
  clearTimeout(later)
  store?.close()
}

/** Counts on, soon. */
function count(): void {
  clearTimeout(later)
  later = undefined
  next ??= setImmediate(countSlice)
}

function countSlice(): void {
  next = undefined
  const begun = performance.now()
  try {
    const wanted = [...new Set(waiting.map(({ customer }) => customer))]
    const { counted, isDone } = opened().rollUp(SLICE, wanted)
    untidied += counted
    answerWaiting()
    if (waiting.length > 0) count()
    else if (!isDone) later = setTimeout(count, 3 * (performance.now() - begun))
    else if (untidied >= TIDY_EVENTS && begun - asked > LOOK_MS) {
      opened().tidy()
      untidied = 0
    }
  } catch (error) {
    pausedUntil = performance.now() + PAUSE_MS
    for (const { reject } of waiting.splice(0)) reject(error)
  }
}

function answerWaiting(): void {
  const now = performance.now()
  for (const question of waiting.splice(0)) if (!answer(question, now)) waiting.push(question)
  // A slice serves only some customers: the next one begins with another.
  waiting.push(...waiting.splice(0, 1))
}

/** Whether there was an answer: reports that turn out to be damaged are counted again first. */
function answer(question: Waiting, now: number): boolean {
  const { customer, tracking, end, until, resolve, reject } = question
  try {
    const upTo = Math.min(end, opened().end(customer))
    const value = opened().read(customer, tracking, upTo)
    if (value) resolve(value)
    else if (until <= now) resolve({ seq: opened().counted(customer), end: upTo })
    else return false
  } catch (error) {
    reject(error)
  }
  return true
}

const looking = setInterval(() => {
  if (!later && performance.now() >= pausedUntil) count()
}, LOOK_MS)
count()
serve<Served>({ read, close })
