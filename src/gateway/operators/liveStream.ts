import type { EventLog } from '../collect/eventLog.ts'
import type { LivePages } from './livePages.ts'
import type { EndReason } from './operators.ts'

/** What one live view watches. */
export type Watch = {
  readonly pages: LivePages
  readonly subscribe: EventLog['subscribe']
  readonly customer: string
  /** Position of the last event the browser has; 0 for none. */
  readonly lastEventId: number
  /** Asked about once a second, busy or not: why the viewer may not look any more, undefined while it may. */
  readonly findEnd: () => EndReason | undefined
  /** Ends the stream when the gateway stops. */
  readonly closing: AbortSignal
  /** Told once, when the stream has ended for whatever reason and reads nothing any more. */
  readonly onEnd: () => void
}

/** An empty comment tells both ends and what is between that the stream lives, ms. */
const HEARTBEAT_MS = 15_000
/** A busy log has news hundreds of times a second; a viewer that has all of it reads at most every so many ms. */
const READ_PAUSE_MS = 100
/** How long somebody who may not look any more goes on seeing events at most, ms: a look-up is a SELECT. */
const ASK_MS = 1_000
/** How long the browser waits before it connects again, ms. */
const RECONNECT_MS = 1_000

/**
 * Server-sent events (HTML standard, 9.2): the last 200 events of a customer or those behind
 * `lastEventId`, then each new one, in order of arrival. The browser pulls: a slow one reads the log later
 * and holds up nobody, so one page is all that it holds in memory. The server closes the connection of one
 * that takes nothing; its browser connects again and goes on behind the last event that it has.
 */
export function streamEvents(watch: Watch): ReadableStream<Uint8Array> {
  const { pages, customer, closing } = watch
  let position: number | undefined
  let lastRead = 0
  let lastAsked = performance.now()
  let isReading = false
  let ended = false
  let isNotified = false
  let isOver = false
  let news = false
  /** More is there than the last page could hold. */
  let isBehind = false
  let wake = () => {}
  const unsubscribe = watch.subscribe((customers) => {
    if (customers && !customers.has(customer)) return
    news = true
    wake()
  })
  const stop = () => wake()
  closing.addEventListener('abort', stop)

  function end(): void {
    if (!ended) {
      ended = true
      unsubscribe()
      closing.removeEventListener('abort', stop)
      wake()
    }
    if (isReading || isNotified) return
    isNotified = true
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

  /** The next piece of the stream; undefined when there is none any more. */
  async function next(): Promise<Uint8Array | undefined> {
    if (position === undefined) {
      position = await pages.findStart(customer, watch.lastEventId)
      news = true
      return Buffer.from(`retry: ${RECONNECT_MS}\n\n`)
    }
    const heartbeatAt = performance.now() + HEARTBEAT_MS
    while (!ended && !closing.aborted) {
      if (performance.now() - lastAsked >= ASK_MS) {
        lastAsked = performance.now()
        const reason = watch.findEnd()
        if (reason) return endWith(reason)
      }
      const sinceRead = performance.now() - lastRead
      if (news && (isBehind || sinceRead >= READ_PAUSE_MS)) {
        news = false
        lastRead = performance.now()
        const { bytes, last, isFull } = await pages.read(customer, position)
        position = last
        isBehind = isFull
        if (bytes.length === 0) continue
        // Only an empty page says that there is no more.
        news = true
        return bytes
      }
      const left = heartbeatAt - performance.now()
      if (left <= 0) return HEARTBEAT
      const untilAsked = ASK_MS - (performance.now() - lastAsked)
      await pause(Math.max(1, Math.min(news ? READ_PAUSE_MS - sinceRead : left, untilAsked)))
    }
    return undefined
  }

  /** The last message, `event: end` with `{"reason"}`; after it the stream is closed. */
  function endWith(reason: EndReason): Uint8Array {
    isOver = true
    return Buffer.from(`event: end\ndata: ${JSON.stringify({ reason })}\n\n`)
  }

  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        isReading = true
        // A log that is closing can not be read: the browser connects again to whoever comes next.
        const piece = await next().catch(() => undefined)
        isReading = false
        if (piece && !ended) {
          controller.enqueue(piece)
          if (!isOver) return
        }
        if (!ended) controller.close()
        end()
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  )
}

const HEARTBEAT = Buffer.from(':\n\n')
