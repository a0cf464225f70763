import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { safeParse } from 'valibot'
import type { Destination } from '../forward/destination.ts'
import { type Forwarder, startForwarder } from '../forward/forwarder.ts'
import type { DestinationState } from '../forward/forwarding.ts'
import type { Kind } from '../forward/kind.ts'
import type { ForwardLog } from './forwardLog.ts'
import { createForwardSource } from './forwardSource.ts'
import { type ForwardStore, LEASE_MS, type StoredDestination } from './forwardStore.ts'

/** Calls at once of all destinations, beside one of each, so that they leave the gateway its sockets. */
export const MAX_FURTHER_CALLS = 128
/** Time between two looks at the files, ms: changes of an operator and new events are seen after it. */
const LOOK_MS = 500
/** Time between two renewals of the leases, ms. */
const RENEW_MS = LEASE_MS / 3
/** Time until a destination that could not be opened is tried again, ms. */
const RETRY_MS = 5_000
/** How long calls may take to end when a destination is changed or the gateway stops, ms. */
const GRACE_MS = 2_000
/** The longest time that a loop sleeps, ms. */
const MAX_PAUSE_MS = 60_000
/** Letters that are looked at in one step, and the time between two steps, ms. */
const TIDY_LETTERS = 500
const TIDY_MS = 5_000
/**
 * Time between two times that what was deleted is overwritten, ms: the whole file is written again. The first is for
 * letters whose event was removed, the other for those that were delivered or discarded.
 */
const OVERWRITE_MS = { removed: 3_600_000, other: 86_400_000 }

/** What the runner uses. */
export type RunnerDependencies = {
  readonly store: ForwardStore
  readonly log: ForwardLog
  readonly kinds: ReadonlyMap<string, Kind>
  readonly isCustomer: (customer: string) => boolean
  /** See SenderDependencies. */
  readonly refundStatuses: (customer: string) => readonly string[]
  /** Folder for files that destinations write. Created when it is needed. */
  readonly folder: string
  /** A random text, another one for each runner. */
  readonly owner: string
  readonly fetch: typeof fetch
  readonly now: () => number
  /** Called with each state of a destination that this gateway forwards to. */
  readonly onState: (destination: Destination, state: DestinationState) => void
  readonly onError: (error: unknown) => void
}

/** Runs the loops of all destinations that this gateway forwards. */
export type Runner = {
  /** Looks at the files now, since this process has changed them. */
  look(): void
  /** Resolves when nothing is sent any more, and other gateways may take over. */
  stop(): Promise<void>
}

type Broken = { readonly revision: number; readonly since: number; readonly forMs: number }
type Running = { readonly forwarder: Forwarder; readonly revision: number }

/**
 * Starts the loops of the destinations that may run and that no other gateway forwards, and stops those that may not any
 * more. Each loop is independent of the others.
 */
export function startRunner(dependencies: RunnerDependencies): Runner {
  const { store, log, kinds, isCustomer, owner, now, onState, onError } = dependencies
  const running = new Map<string, Running>()
  /** Loops that are being stopped. Theirs may not be started again meanwhile. */
  const stopping = new Map<string, Promise<void>>()
  /** Destinations that can not be opened, with the revision for which that is so. */
  const broken = new Map<string, Broken>()
  const sleepers = new Set<() => void>()
  let furtherCalls = 0
  let destinations: readonly StoredDestination[] = []
  let version: number | undefined
  let logVersion = log.version()
  let renewedAt = Number.NEGATIVE_INFINITY
  let tidiedAt = 0
  let tidiedTo = 0
  /** Whether the file may contain letters that were deleted. A process may have ended before it was overwritten. */
  let mustOverwrite = true
  let overwrittenAt = now()
  let isStopped = false

  const timer = setInterval(look, LOOK_MS)
  look()

  function look(): void {
    if (isStopped) return
    try {
      const seen = store.version()
      if (seen !== version) reload(seen)
      lease()
      tidy()
      const seenLog = log.version()
      if (seenLog !== logVersion) wakeAll()
      logVersion = seenLog
    } catch (error) {
      version = undefined
      onError(error)
    }
  }

  function reload(seen: number): void {
    destinations = store.destinations()
    version = seen
    const known = new Map(destinations.map((destination) => [destination.id, destination]))
    for (const [id, { revision }] of running)
      if (known.get(id)?.revision !== revision) end(id, GRACE_MS)
    // Letters may be replayed.
    wakeAll()
  }

  /** Takes and renews the leases of those that may run, and starts them. */
  function lease(): void {
    for (const { id, customer } of destinations)
      if (running.has(id) && !isCustomer(customer)) end(id, 0)
    const able = destinations.filter(mayRun)
    const isDue = Math.abs(now() - renewedAt) >= RENEW_MS
    const wanted = isDue ? able : able.filter(({ id }) => !running.has(id))
    if (wanted.length === 0) return
    const mine = store.lease(
      owner,
      wanted.map(({ id }) => id),
      now(),
    )
    if (isDue) renewedAt = now()
    for (const destination of wanted)
      if (mine.has(destination.id)) begin(destination)
      else end(destination.id, 0)
  }

  function mayRun({ id, isPaused, customer, revision }: StoredDestination): boolean {
    const fault = broken.get(id)
    // Also after a clock was set back.
    const isBroken = fault?.revision === revision && Math.abs(now() - fault.since) < fault.forMs
    return !isPaused && !isBroken && !stopping.has(id) && isCustomer(customer)
  }

  function begin(destination: StoredDestination): void {
    const { id } = destination
    if (running.has(id)) return
    const at = { revision: destination.revision, since: now() }
    const kind = kinds.get(destination.kind)
    const read = kind && safeParse(kind.settings, destination.settings)
    if (!kind || !read?.success) {
      const reason = kind
        ? 'Its settings are not valid in this version. Set them again'
        : `This version has no kind ${destination.kind}`
      broken.set(id, { ...at, forMs: Number.POSITIVE_INFINITY })
      setStopped(destination, reason)
      return
    }
    try {
      open(destination, kind, read.output)
    } catch (error) {
      // It must not keep the others from running.
      broken.set(id, { ...at, forMs: RETRY_MS })
      onError(error)
    }
  }

  function open(
    destination: StoredDestination,
    kind: Kind,
    settings: Readonly<Record<string, unknown>>,
  ): void {
    const { id, customer, revision } = destination
    const folder = join(dependencies.folder, id)
    if (kind.name === 'file') mkdirSync(folder, { recursive: true, mode: 0o700 })
    const source = createForwardSource({
      ...{ store, log, destination, owner },
      keepsLast: kind.keepsLast ?? false,
    })
    const forwarder = startForwarder({
      source: {
        ...source,
        setState(state) {
          source.setState(state)
          onState(destination, state)
        },
      },
      sender: kind.open(settings, {
        destinationId: id,
        customer,
        folder,
        refundStatuses: () => dependencies.refundStatuses(customer),
        fetch: dependencies.fetch,
        now,
      }),
      maxEvents: kind.maxEvents,
      now,
      pause,
      takeLane,
      onError,
    })
    running.set(id, { forwarder, revision })
    // It ends by itself if another gateway has taken it over.
    void forwarder.ended.then(() => {
      if (running.get(id)?.forwarder === forwarder) running.delete(id)
    }, onError)
  }

  function setStopped(destination: StoredDestination, reason: string): void {
    const { id } = destination
    const known = store.progress(id)?.state
    const isKnown = known?.name === 'stopped' && known.reason === reason
    const state = { name: 'stopped', since: now(), reason, nextAt: null } as const
    if (!isKnown) store.setState(id, state)
    onState(destination, state)
  }

  function end(id: string, graceMs: number): void {
    const one = running.get(id)
    if (!one) return
    running.delete(id)
    const ended = one.forwarder
      .stop(graceMs)
      .catch(onError)
      .finally(() => stopping.delete(id))
    stopping.set(id, ended)
  }

  function pause(until: number | undefined, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      // A timer of more than 24 days fires at once. And the clock may be changed meanwhile.
      const ms = until === undefined ? MAX_PAUSE_MS : Math.min(until - now(), MAX_PAUSE_MS)
      const wake = () => {
        clearTimeout(alarm)
        sleepers.delete(wake)
        signal.removeEventListener('abort', wake)
        resolve()
      }
      const alarm = setTimeout(wake, ms)
      sleepers.add(wake)
      signal.addEventListener('abort', wake)
      if (signal.aborted) wake()
    })
  }

  function takeLane(): (() => void) | undefined {
    if (furtherCalls >= MAX_FURTHER_CALLS) return undefined
    furtherCalls++
    return () => {
      furtherCalls--
    }
  }

  function wakeAll(): void {
    for (const wake of [...sleepers]) wake()
  }

  /** Deletes letters whose event was removed from the log: one step. */
  function tidy(): void {
    if (Math.abs(now() - tidiedAt) < TIDY_MS) return
    tidiedAt = now()
    const seqs = store.letters.positions(tidiedTo, TIDY_LETTERS)
    tidiedTo = seqs.length < TIDY_LETTERS ? 0 : (seqs.at(-1) as number)
    const gone = seqs.filter(log.isRemoved)
    if (gone.length > 0 && store.letters.removeEvents(gone) > 0) mustOverwrite = true
    const pause = mustOverwrite ? OVERWRITE_MS.removed : OVERWRITE_MS.other
    if (Math.abs(now() - overwrittenAt) < pause) return
    // If another gateway reads or writes now, the next step tries again.
    if (!store.overwrite()) return
    mustOverwrite = false
    overwrittenAt = now()
  }

  return {
    look() {
      // Writes of this process do not change the version that it sees.
      version = undefined
      look()
    },
    async stop() {
      isStopped = true
      clearInterval(timer)
      for (const id of [...running.keys()]) end(id, GRACE_MS)
      await Promise.all(stopping.values())
      store.release(owner)
    },
  }
}
