import type { Verdict } from '../contract/delivery.ts'
import type { Config } from './config.ts'
import { now } from './lib/now.ts'
import type { Store } from './lib/storage.ts'
import { type Entry, idOf } from './outbox.ts'
import { PROBLEMS } from './problems.ts'

declare const __version__: string

/** A request without an answer is aborted after this time. */
const TIMEOUT_MS = 30_000
/** The longest Retry-After that is obeyed. */
const MAX_RETRY_AFTER_MS = 3_600_000

/** The outcome of a request. */
export type Answer = readonly [
  /** The HTTP status, 0 if there was no answer. */
  status: number,
  /** Retry-After, ms; 0 or less if there was none. */
  afterMs: number,
  /**
   * Verdicts on single events, in any order: accepted (2xx) or refused for good (400, 413, 422). If the request asks
   * which events are stored, 200 means that the event is stored, and 404 that it is not. If the page has already read
   * the body of that answer, every verdict has the answer's own status: 200 if all are stored, 207 if not. An event
   * without a verdict may have arrived.
   */
  verdicts: readonly Verdict[],
]

/**
 * Sends events of one tracking key in one request. Never rejects.
 *
 * @param asks Whether to ask only if the gateway has these events, without their payloads.
 */
export type Send = (
  config: Config,
  entries: readonly Entry[],
  keepalive: boolean,
  asks: boolean,
) => Promise<Answer>

/** @param post `fetch` of the page. */
export const createSend = (post: typeof fetch, store: Store): Send => {
  let due = 0
  return async (config, entries, keepalive, asks) => {
    const name = PROBLEMS + config.key
    let status = 0
    let afterMs = 0
    let verdicts: Verdict[] = []
    try {
      const sent = now()
      const one = !asks && entries.length < 2 && entries[0]
      let query = `?k=${encodeURIComponent(config.key)}&v=${__version__}`
      const problems = sent > due && store.get(name)
      if (problems) {
        due = sent + 60_000
        // Before the answer: the page may be left until then, and the next one would count the same again.
        store.remove(name)
        query += `&p=${encodeURIComponent(problems)}`
      }
      const response = await post(
        `${config.base}/t/${
          one ? `r${query}&id=${idOf(one.name)}&at=${one.at}&sent=${sent}` : `batch${query}`
        }`,
        {
          method: 'POST',
          // Text, so that no preflight is needed: one may outlive its page and lose the event.
          body: one
            ? one.body
            : `{"sent":${sent},"events":[${entries.map(
                ({ name, at, body }) =>
                  `{"id":"${idOf(name)}","at":${at}${asks ? '' : `,"payload":${body}`}}`,
              )}]}`,
          keepalive,
          credentials: 'omit',
          referrerPolicy: 'origin',
          // A redirect is not followed, and acknowledges nothing.
          redirect: 'manual',
          // Browsers without AbortSignal.timeout have only their own time limit.
          signal: AbortSignal.timeout?.(TIMEOUT_MS),
        },
      )
      // Browsers hide the status of a redirect.
      status = response.status || 308
      // Retry-After in seconds or as a date (RFC 9110, 10.2.3). Invalid values are ignored.
      const after = response.headers.get('retry-after') as string
      afterMs = Math.min(
        +after * 1000 || (after && +new Date(after) - sent) || 0,
        MAX_RETRY_AFTER_MS,
      )
      const same = response.ok && entries.map(({ name }) => ({ id: idOf(name), status }))
      // If the page's wrapper of fetch has read the body of an answer to a question, the status is enough. An empty
      // body, or one that is not JSON, is not from the gateway.
      const answered =
        config.anyOk ||
        (response.bodyUsed && asks && /json/.test(response.headers.get('content-type') as string))
          ? same
          : await response.json().then((answer) => answer.results ?? [{ ...answer, status }])
      // Other errors are no verdict on an event (docs/decisions.md, "Verdicts").
      verdicts = (answered as Verdict[]).filter(
        ({ status }) => asks || /^2|^4(00|13|22)/.test(status as never),
      )
    } catch {
      // No answer, or one that is not from the gateway. The events are still in the outbox.
    }
    return [status, afterMs, verdicts]
  }
}
