import { JSON_HEADERS, refuse } from './answers.ts'
import type { EventLog } from './eventLog.ts'
import { streamEvents } from './liveStream.ts'
import type { Operators } from './operators.ts'

/** What the live view needs of the rest of the gateway. */
export type LiveParts = { readonly log: EventLog; readonly operators: Operators }

/** Live views open at the same time, all customers together. */
const MAX_VIEWERS = 100

/** The live view's data: GET /live/events?customer=ID. */
export function createLive({ log, operators }: LiveParts) {
  const closing = new AbortController()
  let viewers = 0

  /** GET /live/events: server-sent events, see liveStream.ts. */
  function events(request: Request, peer: string): Response {
    const watched = operators.findWatched(request, peer)
    if (!watched.ok) return refuse(watched)
    if (viewers >= MAX_VIEWERS)
      return refuse(
        { status: 503, message: 'Too many live views are open' },
        { ...JSON_HEADERS, 'retry-after': '10' },
      )
    const headers = {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      // nginx would gather the stream into blocks.
      'x-accel-buffering': 'no',
    }
    if (request.method === 'HEAD') return new Response(null, { headers })
    viewers++
    const stream = streamEvents({
      log,
      customer: watched.customerId,
      lastEventId: Number(request.headers.get('last-event-id')) || 0,
      findEnd: operators.watchGrant(request, peer, watched.customerId),
      closing: closing.signal,
      onEnd: () => viewers--,
    })
    return new Response(stream, { headers })
  }

  return {
    events,
    /** Ends every open stream, so that the server can stop. */
    close: () => closing.abort(),
  }
}
