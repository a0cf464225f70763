import type { ProblemList } from '../../contract/problems.ts'
import type { Customer, Customers } from '../customers/customers.ts'
import { dayOf } from '../customers/usage.ts'
import type { RefusedEvent } from '../http/refusedEvent.ts'
import type { RequestHead } from '../http/requestHead.ts'
import { createCoverageCounts } from './coverageCounts.ts'
import { judgeCoverage } from './judgeCoverage.ts'
import { createOriginIndex, originOf } from './originIndex.ts'
import { shownOrigin } from './pagePath.ts'
import { readPageReport } from './pageReport.ts'
import { createProblemCounts } from './problemCounts.ts'
import { makeProblemList } from './problemList.ts'
import { type CountStore, type Fault, KEPT_DAYS, slotOf } from './problems.ts'
import { shownKey } from './shownKey.ts'

/** Counts what goes wrong with a customer's events, and which operations come. No call of it fails or waits. */
export type Problems = {
  /**
   * Counts a fault.
   *
   * @param makeExample Makes a masked payload, JSON. It is not called for each fault.
   */
  count(customerId: string, fault: Fault, makeExample?: () => string): void
  /** Reports a refusal that is no fault to count. */
  refused(event: RefusedEvent): void
  /** Counts the report of a page: `p` in the query, still percent-encoded. */
  report(customerId: string, encoded: string): void
  /** Counts a request with a tracking key that no customer has, if the page is one of a customer. */
  unknownKey(request: RequestHead, trackingKey: string): void
  /** Counts an event that was stored. */
  stored(customerId: string, operation: string, receivedAt: number): void
}

/** The counts, and what they say. */
export type ProblemRecorder = Problems & {
  /**
   * What is known of a customer: all that this process has counted up to now, and what others have stored. Rejects with
   * Unavailable.
   */
  list(customer: Customer): Promise<ProblemList>
  /** The number of customers for which an operation has stopped, by operation. It is up to some minutes old. */
  stopped(): ReadonlyMap<string, number>
  /** Stores what is counted, and counts no more. */
  close(): Promise<void>
}

export type RecorderOptions = {
  readonly store: CountStore
  readonly customers: Pick<Customers, 'list'>
  /** The clock, ms since 1970. */
  readonly now: () => number
  /** A monotonic clock, ms. */
  readonly monotonicNow: () => number
  /** Called for each fault. */
  readonly onFault: (fault: Pick<Fault, 'reason' | 'source'>, times: number) => void
  /** Called for each refusal. Default none. */
  readonly onRefused?: (event: RefusedEvent) => void
  /** Called when counts could not be stored. They are tried again. */
  readonly onError: (error: unknown) => void
  /** Time between two writes, ms. Default 3,000. */
  readonly flushMs?: number | undefined
}

const FLUSH_MS = 3_000
/** Counts that are written in one transaction, which takes some milliseconds. */
const MAX_ROWS = 300
/** An answer about a customer is used again for this long, ms. */
const REUSED_MS = 500
/** Customers whose operations are judged after each write, for the metrics. */
const JUDGED_EACH_TIME = 3

/** The status of a refusal that is counted as a fault. */
const STATUS_OF: Readonly<Partial<Record<Fault['reason'], number>>> = {
  wrong_key: 401,
  origin: 403,
  unknown_key: 404,
  too_large: 413,
  refused: 422,
}

/** Records problems and coverage in memory, and stores them every few seconds. A process that is killed loses those. */
export function startRecorder(options: RecorderOptions): ProblemRecorder {
  const { store, customers, now, monotonicNow, onFault, onError, flushMs = FLUSH_MS } = options
  const { onRefused = () => {} } = options
  const problems = createProblemCounts()
  const coverage = createCoverageCounts()
  const findOwners = createOriginIndex(customers, monotonicNow)
  /** The last slot that is known to be stored as one in which a gateway ran. */
  let markedSlot = -1
  let isFailing = false
  let flushing = Promise.resolve()
  const answers = new Map<string, { readonly at: number; readonly list: Promise<ProblemList> }>()
  /** Operations that have stopped, by customer. */
  let stoppedOf = new Map<string, readonly string[]>()
  let toJudge: string[] = []

  /** Writes after the writes before it. */
  function flush(): Promise<void> {
    flushing = flushing.then(write).then(
      () => {
        isFailing = false
      },
      (error) => {
        if (!isFailing) onError(error)
        isFailing = true
      },
    )
    return flushing
  }

  async function write(): Promise<void> {
    const faults = problems.take()
    const events = coverage.take()
    while (faults.length > 0 || events.length > 0 || slotOf(now()) !== markedSlot) {
      const at = now()
      const batch = {
        problems: faults.splice(0, MAX_ROWS),
        coverage: events.splice(0, MAX_ROWS),
        now: at,
      }
      try {
        await store.write(batch)
        markedSlot = slotOf(at)
      } catch (error) {
        problems.putBack([...batch.problems, ...faults])
        coverage.putBack([...batch.coverage, ...events])
        throw error
      }
    }
  }

  async function read(customer: Customer): Promise<ProblemList> {
    await flush()
    const at = now()
    const today = dayOf(at)
    const { customerId } = customer
    const counts = await store.readProblems(customerId, today - KEPT_DAYS + 1)
    return makeProblemList(customer, counts, await store.readCoverage(customerId, at), today, at)
  }

  /** Judges a few customers, in turn. */
  async function judgeNext(): Promise<void> {
    if (toJudge.length === 0) {
      toJudge = customers.list().map(({ customerId }) => customerId)
      stoppedOf = new Map(toJudge.flatMap((id) => [[id, stoppedOf.get(id) ?? []]]))
    }
    for (const id of toJudge.splice(0, JUDGED_EACH_TIME)) {
      const at = now()
      const judged = judgeCoverage(await store.readCoverage(id, at), at)
      const stopped = judged.filter(({ state }) => state === 'stopped')
      stoppedOf.set(
        id,
        stopped.map(({ operation }) => operation),
      )
    }
  }

  function reportRefused(customer: string | undefined, fault: Fault): void {
    const { reason, operation, path } = fault
    const status = STATUS_OF[reason]
    if (status === undefined) return
    onRefused({
      customer,
      status,
      reason,
      ...(operation && { operation }),
      ...(path && { path }),
    })
  }

  let isClosed = false
  let isTicking = false
  async function tick(): Promise<void> {
    if (isTicking) return
    isTicking = true
    await flush()
    // The next round tries again. Errors after the end are those of a closed store.
    if (!isFailing)
      await judgeNext().catch((error) => {
        if (!isClosed) onError(error)
      })
    isTicking = false
  }
  const timer = setInterval(tick, flushMs)
  // The counting begins now, also if no event comes.
  void flush()

  return {
    count(customerId, fault, makeExample) {
      problems.count(customerId, fault, now(), 1, makeExample)
      onFault(fault, 1)
      reportRefused(customerId, fault)
    },
    refused: onRefused,
    report(customerId, encoded) {
      for (const { count, ...fault } of readPageReport(encoded)) {
        problems.count(customerId, fault, now(), count)
        onFault(fault, count)
      }
    },
    unknownKey(request, trackingKey) {
      const page = shownOrigin(originOf(request))
      const path = shownKey(trackingKey)
      const fault = { reason: 'unknown_key', source: 'gateway', operation: '', path, page } as const
      onFault(fault, 1)
      reportRefused(undefined, { ...fault, path: '' })
      if (!page) return
      for (const id of findOwners(page)) problems.count(id, fault, now())
    },
    stored: coverage.count,
    list(customer) {
      const known = answers.get(customer.customerId)
      if (known && monotonicNow() - known.at < REUSED_MS) return known.list
      for (const [id, { at }] of answers) if (monotonicNow() - at >= REUSED_MS) answers.delete(id)
      const list = read(customer)
      answers.set(customer.customerId, { at: monotonicNow(), list })
      return list
    },
    stopped() {
      const numbers = new Map<string, number>()
      for (const operations of stoppedOf.values())
        for (const operation of operations)
          numbers.set(operation, (numbers.get(operation) ?? 0) + 1)
      return numbers
    },
    async close() {
      isClosed = true
      clearInterval(timer)
      await flush()
    },
  }
}
