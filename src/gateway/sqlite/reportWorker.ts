import { parentPort, workerData } from 'node:worker_threads'
import { openReportStore, type Progress, type ReportStore } from './reportStore.ts'
import type { Question, Reply, Start } from './reports.ts'

/** Events a transaction: other questions, and other gateways over the same folder, wait for one. */
const SLICE = 500
/** How often it is looked for new events, ms: a report counts at most these itself before it answers. */
const LOOK_MS = 100
/** So many events change up to a thousand pages; to move these to their place takes some 10 ms and an fsync. */
const TIDY_EVENTS = 300
/** After a failure it is tried again so much later, ms, or when somebody asks. */
const PAUSE_MS = 5_000

/** A question, and the position that must be counted before it is answered. */
type Waiting = Extract<Question, { kind: 'read' }> & {
  readonly end: number
  readonly until: number
}

/**
 * The thread that follows the log: it counts what is new as it comes, with a quarter of a core at most while
 * nobody waits: appends come first. A question is answered once everything is counted that was stored before it.
 */
const { patienceMs, ...files } = workerData as Start
let store: ReportStore | undefined
const waiting: Waiting[] = []
let next: NodeJS.Immediate | undefined
let later: NodeJS.Timeout | undefined
let pausedUntil = 0
/** Position at which it was tidied last. */
let tidied = 0
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
    const end = opened().end()
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
    const progress = opened().rollUp(SLICE)
    answerWaiting(progress)
    if (waiting.length > 0) count()
    else if (progress.seq < progress.end) later = setTimeout(count, 3 * (performance.now() - begun))
    else if (Math.abs(progress.seq - tidied) >= TIDY_EVENTS && begun - asked > LOOK_MS) {
      opened().tidy()
      tidied = progress.seq
    }
  } catch (error) {
    pausedUntil = performance.now() + PAUSE_MS
    for (const { number } of waiting.splice(0)) tell({ number, error: textOf(error) })
  }
}

function answerWaiting({ seq, end }: Progress): void {
  const now = performance.now()
  for (const question of waiting.splice(0)) {
    const upTo = Math.min(question.end, end)
    if (seq >= upTo && answer(question, upTo)) continue
    if (question.until > now) waiting.push(question)
    else tell({ number: question.number, behind: { seq, end } })
  }
}

/** Whether there was an answer: reports that turn out to be damaged are counted again first. */
function answer({ number, customer, tracking }: Waiting, upTo: number): boolean {
  try {
    const value = opened().read(customer, tracking, upTo)
    if (value) tell({ number, value })
    return value !== undefined
  } catch (error) {
    tell({ number, error: textOf(error) })
    return true
  }
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

parentPort?.on('message', take)
const looking = setInterval(() => {
  if (!later && performance.now() >= pausedUntil) count()
}, LOOK_MS)
count()
