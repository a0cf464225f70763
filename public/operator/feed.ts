/** The stream of a customer's events from the gateway. */
import type { EndReason, PageState } from './operator.ts'
import { loadCustomers } from './session.ts'

const RETRY_MS = [1000, 2000, 5000, 10_000]

/** The payload of an event. Anyone can send one, so it may be any JSON object. */
export type Payload = Readonly<Record<string, unknown>>

/** An event as the gateway streams it. */
export type LiveEvent = {
  readonly seq: number
  readonly id: string
  readonly operation: string
  readonly event: string
  /** null if a server sent it. */
  readonly did: string | null
  /** ms since 1970. */
  readonly at: number
  readonly receivedAt: number
  readonly bot?: boolean
  /** Version of the script that sent it; null for a server, or if it is not known. */
  readonly version?: string | null
  /** Bytes of the stored payload, if it is shown shortened. */
  readonly storedBytes?: number
  readonly payload: Payload
}

export type FeedListeners = {
  /** @param length Length of the event's JSON, UTF-16 units. */
  readonly onEvent: (event: LiveEvent, length: number) => void
  readonly onState: (state: PageState) => void
  /** Called when the stream does not continue after the last event: the page has missed too many, or the log is another. */
  readonly onGap?: () => void
  /** Called once, when the operator may no longer see the customer and the stream is closed. */
  readonly onEnd: (reason: EndReason) => void
}

/**
 * Opens the stream of a customer and keeps it open. After a broken connection the browser reconnects by itself. After a
 * refusal, this function asks for the customers that the operator may see and for the reason, and then retries.
 *
 * A hidden page closes its stream, since a browser opens only six connections to a host over HTTP/1.1: six streams
 * would block every other page of the gateway. When the page is shown again, the stream continues after its last event, or begins anew
 * if too many were missed.
 *
 * @returns A function that closes the stream.
 */
export function startFeed(
  customerId: string,
  { onEvent, onState, onGap = () => {}, onEnd }: FeedListeners,
): () => void {
  let source: EventSource | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  let failures = 0
  /** Position of the last event, as the gateway sent it. Undefined before the first connection. */
  let after: string | undefined
  const removals = [
    listen(document, 'visibilitychange', follow),
    // A page that is kept for the back button is not always hidden before.
    listen(window, 'pagehide', close),
    listen(window, 'pageshow', follow),
  ]

  /** Opens the stream of a visible page, and closes that of a hidden one. */
  function follow() {
    if (document.hidden) close()
    else if (!source) open()
  }

  function open() {
    clearTimeout(timer)
    const params = new URLSearchParams({ customer: customerId, ...(after && { after }) })
    const address = `../live/events?${params}`
    const opened = new EventSource(address)
    source = opened
    opened.onopen = () => {
      failures = 0
      onState('connected')
    }
    opened.addEventListener('start', ({ lastEventId }: MessageEvent<string>) => {
      if (after !== undefined && after !== lastEventId) onGap()
      after = lastEventId
    })
    opened.addEventListener('event', ({ data, lastEventId }: MessageEvent<string>) => {
      after = lastEventId
      const event = parse(data)
      if (event) onEvent(event, data.length)
    })
    opened.addEventListener('end', ({ data }: MessageEvent<string>) => {
      stop()
      onEnd(readReason(data))
    })
    opened.onerror = () => {
      // CONNECTING: the browser retries by itself. CLOSED: it has given up, so we retry.
      if (opened.readyState === EventSource.CLOSED) again(opened, address)
      else onState('reconnecting')
    }
  }
  async function again(failed: EventSource, address: string) {
    const found = await findCause(address)
    if (source !== failed) return
    if ('end' in found) {
      stop()
      return onEnd(found.end)
    }
    onState(found.state)
    clearTimeout(timer)
    timer = setTimeout(open, RETRY_MS[Math.min(failures++, RETRY_MS.length - 1)])
  }
  /** Why there is no stream. */
  async function findCause(
    address: string,
  ): Promise<{ readonly end: EndReason } | { readonly state: PageState }> {
    try {
      const answer = await loadCustomers()
      if (!answer) return { end: 'signed_out' }
      const isVisible = answer.customers.some((one) => one.customerId === customerId)
      return isVisible ? { state: await findRefusal(address) } : { end: 'refused' }
    } catch {
      // It does not answer, or has no data. A proxy in front may answer for it.
      return { state: 'reconnecting' }
    }
  }
  function close() {
    clearTimeout(timer)
    source?.close()
    source = undefined
  }
  function stop() {
    for (const remove of removals) remove()
    close()
  }

  onState('connecting')
  follow()
  return stop
}

/** @returns A function that removes the listener. */
function listen(target: EventTarget, type: string, listener: () => void): () => void {
  target.addEventListener(type, listener)
  return () => target.removeEventListener(type, listener)
}

/** @returns undefined if the line is not JSON; the stream goes on. */
function parse(data: string): LiveEvent | undefined {
  try {
    return JSON.parse(data)
  } catch {
    return undefined
  }
}

/** Why a gateway that answers does not open a stream, as a state. HEAD is answered like GET, without the stream. */
async function findRefusal(address: string): Promise<PageState> {
  const answer = await fetch(address, { method: 'HEAD' }).catch(() => undefined)
  // The errors of a proxy are pages, not JSON.
  const isOurs = answer?.headers.get('content-type')?.startsWith('application/json')
  if (isOurs && answer?.status === 429) return 'shop-full'
  if (isOurs && answer?.status === 503) return 'full'
  return 'reconnecting'
}

/** Why the gateway ended the stream: `{"reason"}`. */
function readReason(data: string): EndReason {
  try {
    return JSON.parse(data).reason
  } catch {
    return 'refused'
  }
}
