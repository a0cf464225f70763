import type { EventLog } from '../collect/eventLog.ts'
import type { LivePages } from './livePages.ts'
import type { EndReason } from './operators.ts'

/** What one live view watches. */
export type Watch = {
  readonly pages: LivePages
  readonly subscribe: EventLog['subscribe']
  readonly customer: string
  /** Position after which the browser's events continue. Undefined for a new view. */
  readonly lastEventId: number | undefined
  /** Why the viewer may not see the customer any more. Undefined while it may. Called about once a second. */
  readonly findEnd: () => EndReason | undefined
  /** Ends the stream when the gateway stops. */
  readonly closing: AbortSignal
  /** Called once, when the stream has ended for any reason and does not read any more. */
  readonly onEnd: () => void
}

/** Time between two empty comments, which keep the connection open in proxies and browsers, ms. */
const HEARTBEAT_MS = 15_000
/**
 * The least time between two reads of a viewer that has everything, ms. A busy log changes hundreds of times a second.
 */
const READ_PAUSE_MS = 100
/** Time between two checks whether the viewer may still see the customer, ms. A check is a SELECT. */
const CHECK_MS = 1_000
/** How long the browser waits before it connects again, ms. */
const RECONNECT_MS = 1_000
/** How much longer it waits at most, if the gateway stops, ms. */
const RECONNECT_SPREAD_MS = 2_000

/**
 * Server-sent events (HTML standard, 9.2): the last 200 events of a customer or those after `lastEventId`, then each
 * new one, in order of arrival. Before them `event: start`, whose id is the position where the view begins. The next page is read when the browser has taken the one before, so a slow browser
 * keeps only one page in memory. The server closes the connection of a browser that takes nothing. The browser then
 * connects again and gets the events after the last one that it has.
 */
export function streamEvents(watch: Watch): ReadableStream<Uint8Array> {
  const { pages, customer, closing } = watch
  let position: number | undefined
  let lastRead = 0
  let lastChecked = performance.now()
  let isReading = false
  let ended = false
  let isNotified = false
  let isOver = false
  let news = false
  /** Whether the last page was full, so that there are more events. */
  let isBehind = false
  let wake = () => {}
  const unsubscribe = watch.subscribe((customers) => {
    if (customers && !customers.has(customer)) return
    // Another process has written. It may have erased events that the kept page has.
    if (!customers) pages.forget(customer)
    news = true
    wake()
  }, customer)
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

  /** Resolves when `wake` is called, or after `ms`. */
  const pause = (ms: number) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })

  /** The next chunk of the stream. Undefined at its end. */
  async function next(): Promise<Uint8Array | undefined> {
    if (position === undefined) {
      position = await pages.findStart(customer, watch.lastEventId)
      news = true
      return Buffer.from(`retry: ${RECONNECT_MS}\nevent: start\nid: ${position}\ndata: start\n\n`)
    }
    const heartbeatAt = performance.now() + HEARTBEAT_MS
    while (!ended && !closing.aborted) {
      if (performance.now() - lastChecked >= CHECK_MS) {
        lastChecked = performance.now()
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
        // Only an empty page shows that there are no more events.
        news = true
        return bytes
      }
      const left = heartbeatAt - performance.now()
      if (left <= 0) return HEARTBEAT
      const untilCheck = CHECK_MS - (performance.now() - lastChecked)
      await pause(Math.max(1, Math.min(news ? READ_PAUSE_MS - sinceRead : left, untilCheck)))
    }
    return ended ? undefined : leave()
  }

  /** The last lines if the gateway stops: when to connect again. The views do not all do so at the same time. */
  function leave(): Uint8Array {
    isOver = true
    return Buffer.from(
      `retry: ${RECONNECT_MS + Math.floor(Math.random() * RECONNECT_SPREAD_MS)}\n\n`,
    )
  }

  /** The last message, `event: end` with `{"reason"}`. The stream is closed after it. */
  function endWith(reason: EndReason): Uint8Array {
    isOver = true
    return Buffer.from(`event: end\ndata: ${JSON.stringify({ reason })}\n\n`)
  }

  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        isReading = true
        // The log is closing. The browser connects again, to the next gateway.
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
