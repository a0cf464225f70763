import { createInbox, type Msg, type MsgHdrs, type NatsConnection } from '@nats-io/transport-node'
import { Unavailable } from '../lib/unavailable.ts'

/** What is published. */
export type Message = {
  /** Number of the stream. */
  readonly partition: number
  readonly subject: string
  /** The message id: the stream stores it once within its duplicate window. Without line breaks. */
  readonly id: string
  readonly data: Uint8Array
}

/** The stream's answer. */
export type Acknowledgement = {
  /** Sequence of the message in its stream. */
  readonly seq: number
  /**
   * Whether the stream had the id before. False if this publisher has sent the message more than once, because then the
   * message that the stream had is most likely its own.
   */
  readonly isDuplicate: boolean
}

export type Publisher = {
  /**
   * Publishes all messages at once. Resolves when all are acknowledged, in order. Rejects with Unavailable, after each
   * of them is decided or past its deadline, if not all are known to be stored.
   *
   * The messages of a partition are sent in order of the calls, also when they are sent again. Nevertheless a partition
   * that changes its leader may store some of those that were in flight in another order.
   */
  publish(messages: readonly Message[]): Promise<readonly Acknowledgement[]>
  /** The connection is lost: keeps messages until `resume`. Their deadlines remain. */
  pause(): void
  /** The connection is there again. */
  resume(): void
  /** Ends everything that has no acknowledgement, as if it were past its deadline. */
  giveUp(): void
  /** Messages that were sent again, since the start. */
  repeated(): number
  /** Resolves when nothing waits for an acknowledgement, then ends. */
  close(): Promise<void>
}

export type PublisherOptions = {
  /** Time from `publish` to the acknowledgement, ms. */
  readonly deadlineMs: number
  /** Called when a message of a partition has no acknowledgement at its deadline. */
  readonly onTimeout: (partition: number) => void
}

/** A message without an acknowledgement. */
type Pending = {
  readonly token: number
  readonly message: Message
  readonly batch: Batch
  readonly index: number
  /** When it was published first, ms of the monotonic clock, and when it was last sent. */
  readonly since: number
  sentAt: number
  sends: number
  isHeld: boolean
  isSettled: boolean
}

/** The messages of one call. */
type Batch = {
  readonly acknowledgements: Acknowledgement[]
  left: number
  error: Unavailable | undefined
  readonly resolve: (acknowledgements: readonly Acknowledgement[]) => void
  readonly reject: (error: Unavailable) => void
}

/** The messages of a partition that can not be sent now. */
type Lane = {
  held: Pending[]
  /** The first of them, sent again alone. Its answer shows that the others can be sent. */
  scout: Pending | undefined
  /** The scout has its answer, and the others are about to be sent. */
  isReleasing: boolean
  /** When a message was acknowledged last, ms of the monotonic clock. */
  answeredAt: number
}

type Answer = 'again' | Unavailable | Acknowledgement

/** Why nothing is written while there is no connection. */
export const NO_CONNECTION = 'The connection to the cluster is lost'
/** Time between two checks of deadlines and held messages, while there are messages, ms. */
const SWEEP_MS = 100
/**
 * Time without an answer after which a message is sent again, ms. A leader that is killed answers nothing to what it has
 * got, while the next leader takes some seconds.
 */
export const ANSWER_MS = 1_000
/**
 * Time without an acknowledgement after which held messages are sent again, once the scout has its answer, ms. What a
 * leader has got before is acknowledged now, and need not be sent again.
 */
const QUIET_MS = 300
/** Retry-After of a refused or unanswered message, seconds. */
const RETRY_SECONDS = 5
/** Longest answer that is read, and longest description of an error that is repeated. */
const MAX_ANSWER_BYTES = 4_096
const MAX_DESCRIPTION = 200

/** Error codes of the JetStream API: a limit of the stream, the account or the server's disk is reached. */
const STORE_FAILED = 10077
const FULL = new Set([10002, 10023, 10028, 10047])

/**
 * Publishes to JetStream with little CPU time: one subscription for all acknowledgements, whose subject ends with a
 * number for each message, and one timer for all deadlines.
 *
 * A message that has no answer, or for which the partition has no leader, is sent again with the same id until its
 * deadline. Meanwhile all messages of its partition are held. The oldest one is sent alone every 100 ms, and the others
 * follow, in order, when it is acknowledged and the acknowledgements of what the leader had already have come. So a slow
 * cluster does not get the same messages many times.
 */
export function createPublisher(
  nc: NatsConnection,
  { deadlineMs, onTimeout }: PublisherOptions,
): Publisher {
  /** By token, in order of the calls. */
  const pending = new Map<number, Pending>()
  const lanes: Lane[] = []
  let newest = 0
  let repeated = 0
  let timer: NodeJS.Timeout | undefined
  let isPaused = false
  let isEmpty = () => {}

  const prefix = `${createInbox()}.`
  const subscription = nc.subscribe(`${prefix}*`, {
    callback(error, message) {
      // The subscription is refused. The deadline ends the messages.
      if (error) return
      const one = pending.get(Number.parseInt(message.subject.slice(prefix.length), 36))
      if (!one) return
      const answer = readAnswer(message)
      if (answer === 'again') hold(one)
      else settle(one, answer)
    },
  })

  function laneOf(partition: number): Lane {
    let lane = lanes[partition]
    if (!lane) {
      lane = { held: [], scout: undefined, isReleasing: false, answeredAt: 0 }
      lanes[partition] = lane
    }
    return lane
  }

  function send(one: Pending): void {
    one.isHeld = false
    one.sentAt = performance.now()
    if (++one.sends > 1) repeated++
    const { subject, data, id } = one.message
    try {
      nc.publish(subject, data, {
        reply: prefix + one.token.toString(36),
        headers: idHeader(id),
      })
    } catch (error) {
      settle(one, new Unavailable('The event log can not be written', RETRY_SECONDS, error))
    }
  }

  function hold(one: Pending): void {
    if (one.isHeld) return
    const lane = laneOf(one.message.partition)
    if (lane.scout === one) lane.scout = undefined
    one.isHeld = true
    lane.held.push(one)
  }

  function settle(one: Pending, answer: Unavailable | Acknowledgement): void {
    const { token, batch, index, message } = one
    if (one.isSettled) return
    one.isSettled = true
    pending.delete(token)
    const lane = laneOf(message.partition)
    const isScout = lane.scout === one
    if (isScout) lane.scout = undefined
    if (answer instanceof Unavailable) batch.error ??= answer
    else {
      lane.answeredAt = performance.now()
      batch.acknowledgements[index] =
        one.sends > 1 ? { seq: answer.seq, isDuplicate: false } : answer
    }
    batch.left--
    if (batch.left === 0) {
      if (batch.error) batch.reject(batch.error)
      else batch.resolve(batch.acknowledgements)
    }
    if (isScout) lane.isReleasing = true
    if (pending.size === 0) isEmpty()
  }

  /** The partition answers again: sends what is held, as soon as it is known what the leader has not got. */
  function release(lane: Lane, now: number): void {
    const held = inOrder(lane)
    if (lane.answeredAt + QUIET_MS > now && held.some(({ sends }) => sends > 0)) return
    lane.isReleasing = false
    lane.held = []
    for (const one of held) send(one)
  }

  const inOrder = ({ held }: Lane): Pending[] =>
    held.filter(({ isSettled }) => !isSettled).sort((a, b) => a.token - b.token)

  function sweep(): void {
    const now = performance.now()
    for (const one of pending.values()) {
      // They are in order of `since`.
      if (one.since + Math.min(ANSWER_MS, deadlineMs) > now) break
      if (one.since + deadlineMs <= now) timeOut(one)
      else if (!one.isHeld && one.sentAt + ANSWER_MS <= now) hold(one)
    }
    if (!isPaused)
      for (const lane of lanes)
        if (lane?.isReleasing) release(lane, now)
        else if (lane) sendScout(lane)
    if (pending.size > 0) return
    clearInterval(timer)
    timer = undefined
  }

  function timeOut(one: Pending): void {
    const lane = laneOf(one.message.partition)
    // It is not the answer that releases the others.
    if (lane.scout === one) lane.scout = undefined
    const reason = isPaused ? NO_CONNECTION : 'The event log answers too slowly'
    settle(one, new Unavailable(reason, RETRY_SECONDS))
    onTimeout(one.message.partition)
  }

  function sendScout(lane: Lane): void {
    if (lane.scout || lane.held.length === 0) return
    const [first, ...others] = inOrder(lane)
    lane.held = others
    lane.scout = first
    if (first) send(first)
  }

  return {
    publish(messages) {
      if (messages.length === 0) return Promise.resolve([])
      return new Promise((resolve, reject) => {
        const acknowledgements = new Array<Acknowledgement>(messages.length)
        const batch: Batch = {
          ...{ acknowledgements, left: messages.length, error: undefined, resolve, reject },
        }
        const since = performance.now()
        timer ??= setInterval(sweep, SWEEP_MS)
        for (let index = 0; index < messages.length; index++) {
          const message = messages[index] as Message
          const token = ++newest
          const one: Pending = {
            ...{ token, message, batch, index, since, sentAt: 0, sends: 0 },
            isHeld: false,
            isSettled: false,
          }
          pending.set(token, one)
          const lane = laneOf(message.partition)
          if (isPaused || lane.isReleasing || lane.scout || lane.held.length > 0) hold(one)
          else send(one)
        }
      })
    },
    pause() {
      isPaused = true
      for (const lane of lanes) if (lane) lane.isReleasing = false
      for (const one of pending.values()) hold(one)
    },
    resume() {
      isPaused = false
      for (const lane of lanes) if (lane) sendScout(lane)
    },
    giveUp() {
      for (const one of [...pending.values()]) timeOut(one)
    },
    repeated: () => repeated,
    async close() {
      if (pending.size > 0)
        await new Promise<void>((resolve) => {
          isEmpty = resolve
        })
      clearInterval(timer)
      subscription.unsubscribe()
    },
  }
}

/** The client only encodes its headers. Its own class takes longer to fill. */
const idHeader = (id: string): MsgHdrs =>
  ({
    encode: () => Buffer.from(`NATS/1.0\r\nNats-Msg-Id: ${id}\r\n\r\n`),
  }) as unknown as MsgHdrs

/** What a message on the subject of the acknowledgements says. */
export function readAnswer({ data, headers }: Pick<Msg, 'data' | 'headers'>): Answer {
  // No stream listens to the subject: it has no leader at the moment.
  if (data.length === 0 && headers?.code === 503) return 'again'
  if (data.length > MAX_ANSWER_BYTES) return unreadable()
  try {
    const { seq, duplicate, error } = JSON.parse(
      Buffer.from(data.buffer, data.byteOffset, data.length).toString('latin1'),
    )
    if (error) return readError(error)
    return Number.isSafeInteger(seq) && seq > 0
      ? { seq, isDuplicate: duplicate === true }
      : unreadable()
  } catch {
    return unreadable()
  }
}

function readError(error: { code?: number; err_code?: number; description?: unknown }): Answer {
  const { code, err_code = 0 } = error
  const description = String(error.description).slice(0, MAX_DESCRIPTION)
  if (FULL.has(err_code) || (err_code === STORE_FAILED && /exceeded/.test(description)))
    return new Unavailable(
      `The event log is full (${description}). The operator has to raise the limit of the stream or shorten its retention`,
      60,
    )
  // Without a leader, or it changes.
  if (code === 503) return 'again'
  return new Unavailable(`The event log refuses the event: ${description}`, RETRY_SECONDS)
}

const unreadable = () =>
  new Unavailable('The event log has answered something else than expected', RETRY_SECONDS)
