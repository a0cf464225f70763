import { runSender, type Seen } from '../gatewaySoak/senders.ts'
import type { Random } from '../random.ts'

/** Devices that send to a balancer until they are stopped. */
export type Load = {
  readonly seen: Seen
  /** Resolves when every customer has this many more events acknowledged. */
  untilMore(count: number): Promise<void>
  /** Resolves when this many more requests were answered 503. */
  untilRefused(count: number): Promise<void>
  /** Resolves when every event that was begun is acknowledged. */
  stop(): Promise<void>
  /** Longest time in which a customer had no event acknowledged, s. */
  longestGap(): number
}

export type LoadOptions = {
  readonly url: string
  readonly customers: readonly { readonly id: string; readonly trackingKey: string }[]
  /** Of each customer. */
  readonly devices: number
  readonly random: Random
}

/** Mean time between two requests of a device, ms. */
const PAUSE_MS = 40
/** That of the script in a page, ms. */
const DEADLINE_MS = 30_000
/** How long a condition may take, ms. Elections and restarts take seconds, on a busy machine more. */
const PATIENCE_MS = 300_000
const POLL_MS = 50

export function startLoad({ url, customers, devices, random }: LoadOptions): Load {
  const seen: Seen = { acknowledged: new Map(), statuses: new Map(), faults: [] }
  const counts = new Map(customers.map(({ id }) => [id, 0]))
  const last = new Map(customers.map(({ id }) => [id, performance.now()]))
  let longestMs = 0
  let isStopped = false

  function acknowledge(customer: string, count: number): void {
    const now = performance.now()
    longestMs = Math.max(longestMs, now - (last.get(customer) as number))
    last.set(customer, now)
    counts.set(customer, (counts.get(customer) as number) + count)
  }

  async function until(what: string, isTrue: () => boolean): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS
    while (!isTrue()) {
      if (performance.now() > deadline) {
        const answers = [...seen.statuses].map((pair) => pair.join(': ')).join(', ')
        throw new Error(`Waited too long for ${what}. Answers so far: ${answers}`)
      }
      await new Promise((resolve) => setTimeout(resolve, POLL_MS))
    }
  }

  const senders = customers.flatMap(({ id, trackingKey }) =>
    Array.from({ length: devices }, () =>
      runSender({
        ...{ customer: id, trackingKey, random, seen, pauseMs: PAUSE_MS },
        gateways: () => [url],
        isOver: () => isStopped,
        deadlineMs: DEADLINE_MS,
        // A balancer answers it when a gateway breaks off.
        alsoRepeated: [502],
        onAcknowledged: (count) => acknowledge(id, count),
      }),
    ),
  )
  return {
    seen,
    async untilMore(count) {
      const targets = [...counts].map(([id, before]) => [id, before + count] as const)
      await until('more acknowledged events of each customer', () =>
        targets.every(([id, target]) => (counts.get(id) as number) >= target),
      )
    },
    async untilRefused(count) {
      const target = (seen.statuses.get(503) ?? 0) + count
      await until('more answers 503', () => (seen.statuses.get(503) ?? 0) >= target)
    },
    async stop() {
      isStopped = true
      await Promise.all(senders)
    },
    longestGap: () => longestMs / 1_000,
  }
}
