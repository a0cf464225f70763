import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { ATTEMPT_MS, attempt } from './attempt.ts'
import { backoff } from './backoff.ts'
import { createFailures } from './failures.ts'
import { type DestinationState, MAX_LETTERS } from './forwarding.ts'
import type { ForwardEvent, Sender } from './kind.ts'
import type { Item, Outcome, RefusedItem, Source } from './source.ts'

/** The most events that are read at once. */
const MAX_ITEMS = 100
/** The same before it has taken anything, and while it fails, so that those that wait take little memory. */
const PROBE_ITEMS = 20
/** Calls at once for kinds that take one event. */
const LANES = 8
/** While it is not known whether a destination takes events, so many calls are tried, one after the other, before it is left alone again. */
const PROBES = 3
/** Time until the next try after an error of the databases, and between two checks of a full list of letters, ms. */
const RETRY_MS = 5_000

/** Sends the events of one destination, until it is stopped. */
export type Forwarder = {
  /**
   * Ends the loop. Calls that have begun may end within `graceMs`, so that their events are not sent again.
   *
   * @returns Resolves when nothing is sent or written any more.
   */
  stop(graceMs?: number): Promise<void>
  /** Resolves when the loop has ended, with `stop` or because another gateway forwards now. */
  readonly ended: Promise<void>
}

export type ForwarderOptions = {
  readonly source: Source
  /** Closed when the loop has ended. */
  readonly sender: Sender
  /** See Kind. */
  readonly maxEvents: number
  /** The clock, ms since 1970. */
  readonly now: () => number
  /** Waits for a time, ms since 1970 (default: without end), or for news, or for the signal. May return too early. */
  readonly pause: (until: number | undefined, signal: AbortSignal) => Promise<void>
  /**
   * Takes a place among the further calls of all destinations: each may always make one.
   *
   * @returns Gives it back. Undefined if there is none.
   */
  readonly takeLane: () => (() => void) | undefined
  /** Called with errors of the databases. The loop continues. */
  readonly onError: (error: unknown) => void
  /** From 0 to 1. Default Math.random. */
  readonly random?: () => number
  /** Default ATTEMPT_MS. */
  readonly attemptMs?: number
}

const RUNNING: DestinationState = { name: 'running', since: null, reason: null, nextAt: null }

/**
 * Starts the loop of a destination: read, send, settle. Events of a device are sent in the order of the log; after one
 * that has failed, the later ones of its device wait. If everything fails, the whole destination waits, and is then
 * tried with a few events.
 */
export function startForwarder(options: ForwarderOptions): Forwarder {
  const { source, sender, maxEvents, now, pause, takeLane, onError } = options
  const { random = Math.random, attemptMs = ATTEMPT_MS } = options
  /** Ends waiting, and the taking of events. */
  const stopping = new AbortController()
  /** Ends calls too. */
  const cutting = new AbortController()
  const { signal } = stopping
  const failures = createFailures(random)
  let shown: DestinationState | undefined
  /** Rounds in a row in which everything has failed. */
  let down = 0
  let downSince = 0
  /** Whether it has taken an event since the start or the last time that everything failed. */
  let isProven = false

  const isOver = () => signal.aborted

  async function run(): Promise<void> {
    try {
      for (;;) {
        // Others have their turn, also if nothing is waited for.
        await nextTurn()
        const isMine = await persist(round)
        if (isOver() || !isMine) return
      }
    } finally {
      await sender.close().catch(onError)
    }
  }

  /** Repeats a step until the databases take it. False if another gateway forwards now, or it is over. */
  async function persist(step: () => Promise<boolean> | boolean): Promise<boolean> {
    while (!isOver()) {
      try {
        return await step()
      } catch (error) {
        onError(error)
        await sleepUntil(now() + RETRY_MS)
      }
    }
    return false
  }

  async function sleepUntil(until: number): Promise<void> {
    const begun = now()
    // A clock that goes back must not make it longer.
    while (!isOver() && now() < until && now() >= begun) await pause(until, signal)
  }

  /** @returns False if another gateway forwards now. */
  async function round(): Promise<boolean> {
    const begun = performance.now()
    const time = now()
    const { items, hasMore, isAtLimit } = source.read(isProven ? MAX_ITEMS : PROBE_ITEMS, {
      has: failures.has,
      isWaiting: (item) => failures.isWaiting(item, time),
    })
    const readMs = performance.now() - begun
    const ready = failures.ready(items, time)
    if (ready.length === 0) {
      if (!source.settle({ delivered: [], refused: [], failed: 0 })) return false
      if (items.length === 0 && source.isFull()) await standStill()
      else if (items.length === 0 && hasMore) await rest(readMs)
      else await idle()
      return true
    }
    const isBlocked = isAtLimit && ready.every(failures.has)
    const { isAsked, ...outcome } = await send(ready, isBlocked)
    // Also when it is over, so that nothing is sent again that was delivered.
    if (!(await settle(outcome))) return false
    const isHit = outcome.delivered.length + outcome.refused.length > 0
    if (isHit) {
      down = 0
      show(RUNNING)
    }
    if (isAsked || (!isHit && failures.isDown())) return await waitForIt()
    await rest(readMs)
    return true
  }

  /** Tries to settle at least once, and again while it is not over. */
  async function settle(outcome: Outcome): Promise<boolean> {
    for (;;) {
      try {
        return source.settle(outcome)
      } catch (error) {
        onError(error)
        if (isOver()) return false
        await sleepUntil(now() + RETRY_MS)
      }
    }
  }

  /** There is nothing to send now: waits for news, or for the next attempt of a device. */
  async function idle(): Promise<void> {
    const next = failures.next()
    if (next)
      show({ name: 'waiting', since: next.firstAt, reason: next.reason, nextAt: next.nextAt })
    else show(RUNNING)
    await pause(next?.nextAt, signal)
  }

  /** No dead letter may be lost, so nothing is sent until there are fewer. */
  async function standStill(): Promise<void> {
    const since = shown?.name === 'stopped' ? shown.since : now()
    const reason = `It has ${MAX_LETTERS} dead letters. Replay or discard them`
    show({ name: 'stopped', since, reason, nextAt: null })
    await sleepUntil(now() + RETRY_MS)
  }

  /**
   * Everything fails: waits before the next try, while events that are removed from the log are counted.
   *
   * @returns False if another gateway forwards now.
   */
  async function waitForIt(): Promise<boolean> {
    if (down === 0) downSince = now()
    down++
    isProven = false
    const { reason, retryAfterMs } = failures.last()
    const until = now() + backoff(down, random(), retryAfterMs)
    show({ name: 'waiting', since: downSince, reason, nextAt: until })
    failures.allow(until)
    const begun = now()
    while (!isOver() && now() < until && now() >= begun) {
      await pause(until, signal)
      if (isOver() || now() >= until) return true
      source.read(1)
      if (!source.settle({ delivered: [], refused: [], failed: 0 })) return false
    }
    return true
  }

  /** After reading for a time, rests for twice as long, since the gateway needs the processor too. */
  async function rest(readMs: number): Promise<void> {
    if (readMs < 1) return
    // Ended by `stop`.
    await sleep(Math.min(2 * readMs, 1_000), undefined, { signal }).catch(() => {})
  }

  function show(state: DestinationState): void {
    if (shown && sameState(shown, state)) return
    source.setState(state)
    shown = state
  }

  /** Sends items until all are sent, or too many calls in a row have failed. */
  async function send(
    items: readonly Item[],
    isBlocked: boolean,
  ): Promise<Outcome & { readonly isAsked: boolean }> {
    const delivered: Item[] = []
    const refused: RefusedItem[] = []
    let failed = 0
    /** Calls in a row that have failed. */
    let misses = 0
    /** Whether it asks for a pause. */
    let isAsked = false
    const left = down > 0 ? untriedFirst(items) : [...items]
    const busy = new Set<string>()

    /** The next events, in order, of devices of which no event is being sent or has failed. */
    function take(): Item[] {
      const size = isProven ? maxEvents : 1
      const taken: Item[] = []
      for (let i = 0; i < left.length && taken.length < size; ) {
        const item = left[i] as Item
        if (busy.has(item.device) || failures.blocks(item.device)) i++
        else taken.push(...left.splice(i, 1))
      }
      for (const { device } of taken) busy.add(device)
      return taken
    }

    const isDone = () => isOver() || isAsked || misses >= (isProven ? LANES : PROBES)

    async function lane(): Promise<void> {
      while (!isDone()) {
        const taken = take()
        if (taken.length === 0) return
        await call(taken)
        for (const { device } of taken) busy.delete(device)
      }
    }

    /** A lane beside the first one. */
    async function furtherLane(): Promise<void> {
      const giveBack = takeLane()
      await (giveBack && lane())
      giveBack?.()
    }

    async function call(taken: readonly Item[]): Promise<void> {
      const sent: Item[] = []
      const events: ForwardEvent[] = []
      for (const item of taken) {
        const prepared = item.prepare()
        if (prepared.ok) {
          sent.push(item)
          events.push(prepared.event)
        } else refuse(item, prepared.reason)
      }
      if (sent.length === 0) return
      const deliveries = await attempt(sender, events, cutting.signal, attemptMs)
      let isHit = false
      deliveries.forEach((delivery, i) => {
        const item = sent[i] as Item
        // Results of a call that was cut say nothing about the destination.
        if (delivery.status === 'failed' && cutting.signal.aborted) return
        if (delivery.status === 'failed') {
          failed++
          if (delivery.retryAfterMs) isAsked = true
          const isHopeless = failures.add(item, delivery, now(), isBlocked)
          if (isHopeless) refuse(item, isHopeless)
          return
        }
        isHit = true
        if (delivery.status === 'refused') refuse(item, delivery.reason)
        else {
          delivered.push(item)
          failures.settle(item, 'delivered')
        }
      })
      misses = isHit ? 0 : misses + 1
      if (!isHit) return
      isProven = true
      if (down > 0) failures.allow(now())
      down = 0
    }

    function refuse(item: Item, reason: string): void {
      const { firstAt = now(), attempts = 0 } = failures.settle(item, 'refused') ?? {}
      refused.push({ item, reason, firstAt, lastAt: now(), attempts: attempts + 1 })
    }

    // A call with several events at a time, else their order would be lost.
    const further = maxEvents === 1 && isProven ? LANES - 1 : 0
    await Promise.all([lane(), ...Array.from({ length: further }, furtherLane)])
    return { delivered, refused, failed, isAsked }
  }

  /** Otherwise a few events that always fail would keep a destination down that takes all others. */
  function untriedFirst(items: readonly Item[]): Item[] {
    const tried = new Set(items.filter(failures.has).map(({ device }) => device))
    const first = items.find(({ device }) => !tried.has(device))
    return first ? [first, ...items.filter((item) => item !== first)] : [...items]
  }

  const ended = run()
  return {
    ended,
    async stop(graceMs = 0) {
      stopping.abort()
      const timer = setTimeout(() => cutting.abort(), graceMs)
      await ended
      clearTimeout(timer)
    },
  }
}

const sameState = (a: DestinationState, b: DestinationState): boolean =>
  a.name === b.name && a.since === b.since && a.reason === b.reason && a.nextAt === b.nextAt
