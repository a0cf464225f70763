import { Unavailable } from '../lib/unavailable.ts'
import type { EventLog, LogEvent, Outcome } from './eventLog.ts'

/** Limits of the queue in front of the log. */
export type QueueLimits = {
  /**
   * Events that wait or are being written. An append fails at once if its customer would then have more events in the
   * queue than are left free, so one customer alone gets at most half. Default 10,000.
   */
  readonly maxEvents?: number
  /** The same in bytes of payload and row. Default 16 MiB. */
  readonly maxBytes?: number
  /** Deadline of an append, ms. Default 5,000. */
  readonly deadlineMs?: number
}

export const DEFAULT_QUEUE = { maxEvents: 10_000, maxBytes: 16 * 2 ** 20, deadlineMs: 5_000 }

/** Called after each commit: its events, and how long it took. */
export type OnCommit = (events: number, seconds: number) => void

/**
 * The groups of customers whose commits the engine can make at the same time. Customers of different groups share no
 * commit, so a commit that hangs or fails concerns only its group. The log is reported as unhealthy if no group works.
 */
export type Groups = {
  readonly count: number
  /** The group of a customer, from 0. */
  readonly of: (customer: string) => number
}

const ONE_GROUP: Groups = { count: 1, of: () => 0 }

/** Memory of an event without its payload (ids, names, objects), bytes, roughly. */
const EVENT_OVERHEAD_BYTES = 512
/**
 * About the size of one commit, bytes: some 450 events of a page or 60 of 8 kB. Enough to make the fsync cheap, and few
 * enough for a commit of 2 to 3 ms without the fsync.
 */
const MAX_GROUP_BYTES = 2 ** 19
/** Larger appends are split into pieces of about this size, bytes, so that a batch does not make a long commit. */
const PIECE_BYTES = 2 ** 16
/** How much a customer may add to a commit before the next customer's turn, bytes. */
const TURN_BYTES = 2 ** 15
/** Above this the queue is reported as nearly full. Three customers that flood it can not fill this much. */
const NEARLY_FULL = 0.9
/** Time between two checks of the deadline, ms. */
const SWEEP_MS = 250

/** Events of one customer that are written together. */
type Piece = Part & {
  readonly lane: Lane
  readonly since: number
  readonly resolve: (outcomes: readonly Outcome[]) => void
  readonly reject: (error: Unavailable) => void
}

/** One customer's part of the queue. An append belongs to the customer of its first event. */
type Lane = {
  readonly customer: string
  readonly group: Group
  /** In order of arrival. */
  waiting: Piece[]
  /** Waiting and being written. */
  events: number
  bytes: number
  /** How much it has added to commits above its turns, bytes. This is subtracted from its next turns. */
  debt: number
  /** The outcome of its last append. */
  newest: Promise<unknown>
}

/** The part of the queue whose events may share commits. */
type Group = {
  /** The lanes with waiting events. The lane that had the last turn is at the end. */
  readonly turns: Set<Lane>
  /** The running commit. There is one at most, so that the events of a customer keep their order. */
  commit: Commit | undefined
  /** Whether its last commit has failed. */
  isFailing: boolean
}

type Commit = {
  readonly pieces: readonly Piece[]
  readonly started: number
  /** Resolves when it has succeeded or failed. */
  ended: Promise<void>
}

const createLane = (customer: string, group: Group): Lane => ({
  customer,
  group,
  waiting: [],
  events: 0,
  bytes: 0,
  debt: 0,
  newest: Promise.resolve(),
})

/**
 * The bounded queue in front of the log. Events that arrive during a commit go into the next one. It does not wait for
 * more events: a fixed delay made it 3 to 7 times slower, and without one it is 22 times as fast as one commit an
 * event, at the same durability.
 *
 * Customers take turns, by bytes: round robin, in which bytes above a turn are subtracted from the next turns. Dynamic
 * thresholds share the queue, so that a customer finds room however many events another one has in it (Choudhury and
 * Hahne, https://doi.org/10.1109/90.664262).
 *
 * @param engine A log that makes one commit for each append. It makes one at a time, or one for each of its
 * `groups`.
 * @param probeMs The least time between two probes by `health`, while commits fail, ms. Default 1,000.
 * @returns The same log, whose appends share commits. A large append may be split over several.
 */
export function createGroupCommit(
  engine: EventLog & { readonly groups?: Groups },
  {
    maxEvents = DEFAULT_QUEUE.maxEvents,
    maxBytes = DEFAULT_QUEUE.maxBytes,
    deadlineMs = DEFAULT_QUEUE.deadlineMs,
  }: QueueLimits = {},
  onCommit: OnCommit = () => {},
  probeMs = 1_000,
): EventLog & { readonly depth: () => number } {
  const { count: length, of: groupOf } = engine.groups ?? ONE_GROUP
  const groups = Array.from(
    { length },
    (): Group => ({ turns: new Set(), commit: undefined, isFailing: false }),
  )
  /** The lanes of all customers with events in the queue. */
  const lanes = new Map<string, Lane>()
  let events = 0
  let bytes = 0
  let sweep: NodeJS.Timeout | undefined
  let closed = false
  let triedAt = 0

  function append(added: readonly LogEvent[]): Promise<readonly Outcome[]> {
    const [first] = added
    if (!first) return Promise.resolve([])
    if (closed) return Promise.reject(new Unavailable('The gateway is stopping'))
    const { customer } = first
    const lane = lanes.get(customer) ?? createLane(customer, groups[groupOf(customer)] as Group)
    let size = 0
    for (const event of added) size += weigh(event)
    const freeEvents = maxEvents - events - added.length
    const freeBytes = maxBytes - bytes - size
    if (lane.events + added.length > freeEvents || lane.bytes + size > freeBytes)
      return Promise.reject(new Unavailable('Too many events wait to be stored'))
    count(lane, added.length, size)
    if (size <= PIECE_BYTES) return enqueue(lane, { events: added, bytes: size })
    const outcomes = Promise.all(split(added).map((part) => enqueue(lane, part)))
    return outcomes.then((all) => all.flat())
  }

  function enqueue(lane: Lane, { events, bytes }: Part): Promise<readonly Outcome[]> {
    const outcomes = new Promise<readonly Outcome[]>((resolve, reject) => {
      lane.waiting.push({ lane, events, bytes, since: performance.now(), resolve, reject })
      lane.group.turns.add(lane)
      sweep ??= setInterval(giveUp, SWEEP_MS)
      startCommit(lane.group)
    })
    lane.newest = outcomes
    return outcomes
  }

  /**
   * Waits for the customer's newest append. Appends of a lane are settled in order, so the older ones are settled too.
   */
  async function has(customer: string, ids: readonly string[]): Promise<readonly boolean[]> {
    if (closed) throw new Unavailable('The gateway is stopping')
    const decided = lanes.get(customer)?.newest.catch(() => {}) ?? Promise.resolve()
    return inTime(decided.then(() => engine.has(customer, ids)))
  }

  function inTime<T>(answer: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Unavailable('The event log answers too slowly', 5)),
        deadlineMs,
      )
      answer.then(resolve, reject).finally(() => clearTimeout(timer))
    })
  }

  function startCommit(group: Group): void {
    if (group.commit || group.turns.size === 0) return
    const pieces = takePieces(group)
    group.commit = { pieces, started: performance.now(), ended: Promise.resolve() }
    group.commit.ended = run(group, group.commit)
  }

  async function run(group: Group, commit: Commit): Promise<void> {
    const { pieces, started } = commit
    const all = pieces.length === 1 ? (pieces[0] as Piece).events : pieces.flatMap((p) => p.events)
    try {
      const outcomes = await engine.append(all)
      group.isFailing = false
      let from = 0
      for (const { events: own, resolve } of pieces) {
        resolve(outcomes.slice(from, from + own.length))
        from += own.length
      }
    } catch (cause) {
      group.isFailing = true
      triedAt = performance.now()
      const error =
        cause instanceof Unavailable
          ? cause
          : new Unavailable('The event log can not be written', 5, cause)
      for (const { reject } of pieces) reject(error)
    }
    release(pieces)
    onCommit(all.length, (performance.now() - started) / 1000)
    group.commit = undefined
    startCommit(group)
    if (groups.some(({ commit }) => commit)) return
    clearInterval(sweep)
    sweep = undefined
  }

  /**
   * A 503 from /readyz stops all traffic, so no commit would ever show that the disk works again. Probes it instead.
   */
  function probeAgain(): void {
    if (performance.now() - triedAt < probeMs) return
    triedAt = performance.now()
    engine.probe().then(
      () => {
        for (const group of groups) group.isFailing = false
      },
      () => {},
    )
  }

  /** Whether a commit runs longer than the deadline. The engine does not notice that. */
  function hangs({ commit }: Group): boolean {
    return commit !== undefined && performance.now() - commit.started > deadlineMs
  }

  function takePieces({ turns }: Group): Piece[] {
    const pieces: Piece[] = []
    let size = 0
    // The loop visits again each lane that is added again, until the commit is full or no lane has waiting events.
    for (const lane of turns) {
      turns.delete(lane)
      let left = TURN_BYTES - lane.debt
      let taken = 0
      while (left > 0 && taken < lane.waiting.length) {
        const piece = lane.waiting[taken++] as Piece
        pieces.push(piece)
        size += piece.bytes
        left -= piece.bytes
      }
      lane.waiting.splice(0, taken)
      lane.debt = Math.max(0, -left)
      if (lane.waiting.length > 0) turns.add(lane)
      if (size >= MAX_GROUP_BYTES) break
    }
    return pieces
  }

  function count(lane: Lane, addedEvents: number, addedBytes: number): void {
    events += addedEvents
    bytes += addedBytes
    lane.events += addedEvents
    lane.bytes += addedBytes
    if (lane.events > 0) lanes.set(lane.customer, lane)
    else lanes.delete(lane.customer)
  }

  function release(settled: readonly Piece[]): void {
    for (const piece of settled) count(piece.lane, -piece.events.length, -piece.bytes)
  }

  /** Rejects the appends that are past their deadline, such as on a disk that hangs. Their outcome is unknown. */
  function giveUp(): void {
    const oldest = performance.now() - deadlineMs
    const late: Piece[] = []
    const inFlight: Piece[] = []
    for (const { turns, commit } of groups) {
      for (const lane of turns) {
        late.push(...lane.waiting.filter(({ since }) => since < oldest))
        lane.waiting = lane.waiting.filter(({ since }) => since >= oldest)
        if (lane.waiting.length === 0) turns.delete(lane)
      }
      if (commit) inFlight.push(...commit.pieces)
    }
    release(late)
    for (const { since, reject } of [...late, ...inFlight])
      if (since < oldest) reject(new Unavailable('The event log answers too slowly', 5))
  }

  return {
    ...engine,
    append,
    has,
    depth: () => events,
    health() {
      if (closed) return { writable: false, reason: 'stopping' }
      if (groups.every(hangs))
        return { writable: false, reason: 'the event log answers too slowly' }
      if (events > maxEvents * NEARLY_FULL || bytes > maxBytes * NEARLY_FULL)
        return { writable: false, reason: 'the queue of events is nearly full' }
      const health = engine.health()
      if (!health.writable || !groups.every((group) => group.isFailing || hangs(group)))
        return health
      probeAgain()
      return { writable: false, reason: 'the event log can not be written' }
    },
    async close() {
      closed = true
      for (const group of groups) while (group.commit) await group.commit.ended
      await engine.close()
    },
  }
}

type Part = { readonly events: readonly LogEvent[]; readonly bytes: number }

const weigh = ({ payload }: LogEvent): number => payload.length + EVENT_OVERHEAD_BYTES

/** Splits a large append into pieces. Each is small, or a single event. */
function split(added: readonly LogEvent[]): Part[] {
  const parts: { events: LogEvent[]; bytes: number }[] = []
  for (const event of added) {
    const bytes = weigh(event)
    const last = parts.at(-1)
    if (last && last.bytes + bytes <= PIECE_BYTES) {
      last.events.push(event)
      last.bytes += bytes
    } else parts.push({ events: [event], bytes })
  }
  return parts
}
