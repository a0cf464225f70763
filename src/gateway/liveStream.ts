import type { EventLog, LogRecord } from './eventLog.ts'
import type { EndReason } from './operators.ts'

/** What one live view watches. */
export type Watch = {
  readonly log: EventLog
  readonly customer: string
  /** Position of the last event the browser has; 0 for none. */
  readonly lastEventId: number
  /** Asked about once a second, busy or not: why the viewer may not look any more, undefined while it may. */
  readonly findEnd: () => EndReason | undefined
  /** Ends the stream when the gateway stops. */
  readonly closing: AbortSignal
  /** Told once, when the stream has ended for whatever reason. */
  readonly onEnd: () => void
}

/** What a new viewer sees of the past. */
const FIRST_EVENTS = 200
/** Read at once; more is read when the browser has taken these. */
const PAGE_EVENTS = 200
/** An empty comment tells both ends and what is between that the stream lives, ms. */
const HEARTBEAT_MS = 15_000
/** A busy log has news hundreds of times a second; a viewer reads at most every so many ms. */
const READ_PAUSE_MS = 100
/** How long somebody who may not look any more goes on seeing events at most, ms: a look-up is a SELECT. */
const ASK_MS = 1_000
/** How long the browser waits before it connects again, ms. */
const RECONNECT_MS = 1_000

/**
 * Server-sent events (HTML standard, 9.2): the last 200 events of a customer or those behind
 * `lastEventId`, then each new one, in order of arrival. The browser pulls: a slow one reads the log later
 * and holds up nobody, so nothing gathers in memory.
 */
export function streamEvents(watch: Watch): ReadableStream<Uint8Array> {
  const { log, customer, closing } = watch
  const encoder = new TextEncoder()
  let position: number | undefined
  let lastRead = 0
  let lastAsked = performance.now()
  let ended = false
  let isOver = false
  let news = false
  let wake = () => {}
  const unsubscribe = log.subscribe(() => {
    news = true
    wake()
  })
  const stop = () => wake()
  closing.addEventListener('abort', stop)

  function end(): void {
    if (ended) return
    ended = true
    unsubscribe()
    closing.removeEventListener('abort', stop)
    wake()
    watch.onEnd()
  }

  /** Resolves when `wake` is called, or after so many ms. */
  const pause = (ms: number) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })

  /** The text of the next piece of the stream; undefined when there is none any more. */
  async function next(): Promise<string | undefined> {
    if (position === undefined) {
      const records = await firstRecords()
      position = records.at(-1)?.seq ?? 0
      news = true
      return `retry: ${RECONNECT_MS}\n\n${records.map(toMessage).join('')}`
    }
    const heartbeatAt = performance.now() + HEARTBEAT_MS
    while (!ended && !closing.aborted) {
      if (performance.now() - lastAsked >= ASK_MS) {
        lastAsked = performance.now()
        const reason = watch.findEnd()
        if (reason) return endWith(reason)
      }
      const sinceRead = performance.now() - lastRead
      if (news && sinceRead >= READ_PAUSE_MS) {
        news = false
        lastRead = performance.now()
        const records = await log.read({ after: position, max: PAGE_EVENTS, customer })
        position = records.at(-1)?.seq ?? position
        if (records.length === PAGE_EVENTS) news = true
        if (records.length > 0) return records.map(toMessage).join('')
        continue
      }
      const left = heartbeatAt - performance.now()
      if (left <= 0) return ':\n\n'
      const untilAsked = ASK_MS - (performance.now() - lastAsked)
      await pause(Math.max(1, Math.min(news ? READ_PAUSE_MS - sinceRead : left, untilAsked)))
    }
    return undefined
  }

  /** The last message, `event: end` with `{"reason"}`; after it the stream is closed. */
  function endWith(reason: EndReason): string {
    isOver = true
    return `event: end\ndata: ${JSON.stringify({ reason })}\n\n`
  }

  async function firstRecords(): Promise<readonly LogRecord[]> {
    const newest = await log.last(customer, FIRST_EVENTS)
    const { lastEventId } = watch
    // A position ahead of the log is of another log: its data was moved away.
    if (!lastEventId || lastEventId > (newest.at(-1)?.seq ?? 0)) return newest
    return log.read({ after: lastEventId, max: PAGE_EVENTS, customer })
  }

  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        // A log that is closing can not be read: the browser connects again to whoever comes next.
        const text = await next().catch(() => undefined)
        if (text !== undefined && !ended) controller.enqueue(encoder.encode(text))
        if (text !== undefined && !isOver && !ended) return
        if (!ended) controller.close()
        end()
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  )
}

const toMessage = ({ customer: _, payload, ...rest }: LogRecord): string =>
  `event: event\nid: ${rest.seq}\ndata: ${JSON.stringify(rest).slice(0, -1)},"payload":${payload}}\n\n`
