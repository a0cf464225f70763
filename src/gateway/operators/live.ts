import { setMaxListeners } from 'node:events'
import type { EventLog } from '../collect/eventLog.ts'
import { JSON_HEADERS, type Refusal, refuse } from '../http/answers.ts'
import { readQuery } from '../http/query.ts'
import { createLivePages } from './livePages.ts'
import { streamEvents } from './liveStream.ts'
import type { Operators } from './operators.ts'

/** Limits of the live views. */
export type LiveLimits = {
  /** Views that are open at once, all customers together. Above it 503. Default 100. */
  readonly maxViews?: number | undefined
  /** The same of one customer. Above it 429. Default 10. */
  readonly maxViewsOfCustomer?: number | undefined
}

export const DEFAULT_LIVE_LIMITS = { maxViews: 100, maxViewsOfCustomer: 10 }

export type LiveDependencies = {
  readonly log: EventLog
  readonly operators: Operators
  readonly live?: LiveLimits | undefined
}

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  // Otherwise nginx would buffer the stream.
  'x-accel-buffering': 'no',
}
/** When a refused view may try again, seconds. */
const RETRY_AFTER = { 'retry-after': '10' }

/** The live view's data. */
export function createLive({ log, operators, live = {} }: LiveDependencies) {
  const {
    maxViews = DEFAULT_LIVE_LIMITS.maxViews,
    maxViewsOfCustomer = DEFAULT_LIVE_LIMITS.maxViewsOfCustomer,
  } = live
  const pages = createLivePages(log)
  const closing = new AbortController()
  setMaxListeners(0, closing.signal)
  /** Open views, by customer. */
  const views = new Map<string, number>()
  let open = 0

  /**
   * GET /live/events?customer=ID&after=POSITION: server-sent events, see liveStream.ts. `after` is the position of the
   * last event that the page has, for a page that opens its stream again. The browser's own Last-Event-ID is newer. HEAD checks
   * whether there is room.
   */
  function events(request: Request, peer: string): Response {
    const watched = operators.findWatched(request, peer)
    if (!watched.ok) return refuse(watched)
    const { customerId } = watched
    const full = findFull(customerId)
    if (full) return refuse(full, { ...JSON_HEADERS, ...RETRY_AFTER })
    if (request.method === 'HEAD') return new Response(null, { headers: HEADERS })
    const stream = streamEvents({
      pages,
      subscribe: log.subscribe,
      customer: customerId,
      lastEventId: readPosition(request),
      findEnd: operators.watchGrant(request, peer, customerId),
      closing: closing.signal,
      onEnd: () => leave(customerId),
    })
    open++
    views.set(customerId, (views.get(customerId) ?? 0) + 1)
    return new Response(stream, { headers: HEADERS })
  }

  function findFull(customerId: string): Refusal | undefined {
    if ((views.get(customerId) ?? 0) >= maxViewsOfCustomer)
      return { ok: false, status: 429, message: 'Too many live views of this shop are open' }
    if (open >= maxViews) return { ok: false, status: 503, message: 'Too many live views are open' }
    return undefined
  }

  function leave(customerId: string): void {
    open--
    const left = (views.get(customerId) ?? 1) - 1
    if (left > 0) {
      views.set(customerId, left)
      return
    }
    views.delete(customerId)
    pages.forget(customerId)
  }

  return {
    events,
    /** Ends every open stream, so that the server can stop. */
    close: () => closing.abort(),
  }
}

/** The position after which a stream continues. Undefined for a new view, and for a text that is not one. */
function readPosition({ headers, url }: Request): number | undefined {
  const text = headers.get('last-event-id') || readQuery(url)('after')
  return text && /^\d{1,15}$/.test(text) ? Number(text) : undefined
}
