import { parentPort, workerData } from 'node:worker_threads'
import { openReportStore, type ReportStore } from './reportStore.ts'
import type { Question, Reply, Start } from './reports.ts'

/** Events a transaction: other questions, and other gateways over the same folder, wait for one. */
const SLICE = 500
/** How often it is looked for new events, ms: a report counts at most these itself before it answers. */
const LOOK_MS = 100
/** So many events change up to a thousand pages; to move these to their place takes some 10 ms and an fsync. */
const TIDY_EVENTS = 300
/** After a failure it is tried again so much later, ms, or when somebody asks. */
const PAUSE_MS = 5_000

/** A question, and the position up to which the customer's events must be counted before it is answered. */
type Waiting = Extract<Question, { kind: 'read' }> & {
  readonly end: number
  readonly until: number
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

const tell = (reply: Reply): void => parentPort?.postMessage(reply)

const opened = (): ReportStore => {
  store ??= openReportStore(files)
  return store
}

function take(question: Question): void {
  if (question.kind === 'close') {
    clearInterval(looking)
    clearImmediate(next)
    clearTimeout(later)
    store?.close()
    tell({ number: question.number, value: undefined })
    return
  }
  asked = performance.now()
  try {
    const end = opened().end(question.customer)
    waiting.push({ ...question, end, until: asked + patienceMs })
    count()
  } catch (error) {
    tell({ number: question.number, error: textOf(error) })
  }
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
    for (const { number } of waiting.splice(0)) tell({ number, error: textOf(error) })
  }
}

function answerWaiting(): void {
  const now = performance.now()
  for (const question of waiting.splice(0)) if (!answer(question, now)) waiting.push(question)
  // A slice serves only some customers: the next one begins with another.
  waiting.push(...waiting.splice(0, 1))
}

/** Whether there was an answer: reports that turn out to be damaged are counted again first. */
function answer({ number, customer, tracking, end, until }: Waiting, now: number): boolean {
  try {
    const upTo = Math.min(end, opened().end(customer))
    const value = opened().read(customer, tracking, upTo)
    if (value) tell({ number, value })
    else if (until <= now) tell({ number, behind: { seq: opened().counted(customer), end: upTo } })
    else return false
  } catch (error) {
    tell({ number, error: textOf(error) })
  }
  return true
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

parentPort?.on('message', take)
const looking = setInterval(() => {
  if (!later && performance.now() >= pausedUntil) count()
}, LOOK_MS)
count()
