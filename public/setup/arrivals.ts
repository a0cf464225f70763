/** Which operations have arrived, without the DOM: what came before this page was opened, and what comes now. */
import type { Coverage } from '../../src/contract/problems.ts'
import type { LiveEvent } from '../operator/feed.ts'
import type { Operation } from './steps.ts'

/** Length at which the address of an event's page is cut, characters. */
const MAX_SHOWN = 80

export type Arrival = {
  /** When the newest event arrived, ms since 1970. */
  readonly at: number
  /** Its page without query; '' if it is not known or a server sent it. */
  readonly page: string
  /** Whether it arrived since this page watches. */
  readonly isFresh: boolean
}

/** Works for one customer. */
export function createArrivals() {
  const arrivals = new Map<string, Arrival>()
  /** The gateway's clock when the page began to watch, ms since 1970. */
  let began = 0

  function take(operation: string, at: number, page: string): boolean {
    const before = arrivals.get(operation)
    if (before && before.at > at) return false
    const isFresh = at >= began
    arrivals.set(operation, { at, page, isFresh })
    return isFresh && !before?.isFresh
  }

  return {
    /** Forgets everything, for another customer. @param serverNow The gateway's clock, ms since 1970. */
    start(serverNow: number): void {
      arrivals.clear()
      began = serverNow
    },
    /** Takes what came before the stream. An event of the stream counts for more: it has its page. */
    takeCoverage(coverage: readonly Coverage[]): void {
      for (const { operation, last } of coverage)
        if (last !== null && !arrivals.has(operation)) take(operation, Date.parse(last), '')
    },
    /** @returns Whether it is the first one of its operation since the page watches. */
    takeEvent: ({ operation, receivedAt, payload }: LiveEvent): boolean =>
      take(operation, +new Date(receivedAt), placeOf(payload.url)),
    find: (operation: Operation): Arrival | undefined => arrivals.get(operation),
    count: (operations: readonly Operation[]): number =>
      operations.filter((operation) => arrivals.has(operation)).length,
    /** The first operation that has not arrived. Undefined if all have. */
    next: (operations: readonly Operation[]): Operation | undefined =>
      operations.find((operation) => !arrivals.has(operation)),
  }
}

export type Arrivals = ReturnType<typeof createArrivals>

/** The host and path of an address, cut. It is not parsed: anyone can send a long one. */
function placeOf(url: unknown): string {
  const [, place = ''] =
    /^https?:\/\/([^?#]*)/i.exec(String(url ?? '').slice(0, 4 * MAX_SHOWN)) ?? []
  return place.length > MAX_SHOWN ? `${place.slice(0, MAX_SHOWN)}…` : place
}
