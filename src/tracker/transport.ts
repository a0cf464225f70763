import type { Verdict } from '../contract/delivery.ts'
import type { Config } from './config.ts'
import { now } from './lib/now.ts'
import { type Entry, idOf } from './outbox.ts'

/** An attempt without an answer is given up after this, ms. */
const TIMEOUT_MS = 30_000
/** A gateway that asks for more patience is asked again after this all the same, ms. */
const MAX_RETRY_AFTER_MS = 3_600_000

/** What an attempt did. */
export type Answer = readonly [
  /** The answer's HTTP status; 0 when none came. */
  status: number,
  /** How long the gateway asks to wait, ms; 0 or less where it does not say. */
  afterMs: number,
  /**
   * For events, in any order: taken (2xx), refused for good (400, 413, 422). On a question: the gateway has the
   * event (200), or has not (404; 207: not all of those in question). Missing where it is not known.
   */
  verdicts: readonly Verdict[],
]

/**
 * One attempt: sends events of one tracking key in one request. Never rejects.
 *
 * @param asks Asks whether the gateway has them, and sends no payload.
 */
export type Send = (
  config: Config,
  entries: readonly Entry[],
  keepalive: boolean,
  asks: boolean,
) => Promise<Answer>

/** @param post The page's fetch. */
export const createSend =
  (post: typeof fetch): Send =>
  async (config, entries, keepalive, asks) => {
    let status = 0
    let afterMs = 0
    let verdicts: Verdict[] = []
    try {
      const sent = now()
      const one = !asks && entries.length < 2 && entries[0]
      const query = `?k=${encodeURIComponent(config.key)}`
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
          // A redirect is then an answer that acknowledges nothing.
          redirect: 'manual',
          // Older browsers have only their own limit.
          signal: AbortSignal.timeout?.(TIMEOUT_MS),
        },
      )
      // Of a redirect a browser says no status.
      status = response.status || 308
      // Retry-After in seconds or as a date (RFC 9110, 10.2.3); nonsense says nothing.
      const after = response.headers.get('retry-after') as string
      afterMs = Math.min(
        +after * 1000 || (after && +new Date(after) - sent) || 0,
        MAX_RETRY_AFTER_MS,
      )
      const same = response.ok && entries.map(({ name }) => ({ id: idOf(name), status }))
      // From the script's tag `anyOk` is text. A wrapper of fetch may have read the body: of a question the
      // status says enough. (A body that is empty or no JSON is no answer of the gateway's.)
      const answered =
        config.anyOk ||
        (response.bodyUsed && asks && /json/.test(response.headers.get('content-type') as string))
          ? same
          : await response.json().then((answer) => answer.results ?? [{ ...answer, status }])
      // A verdict on the event itself, which names it: proxies and captive portals answer errors too, and
      // 401, 403 and 404 speak of a configuration, which somebody will mend.
      verdicts = (answered as Verdict[]).filter(
        ({ status }) => asks || /^2|^4(00|13|22)/.test(status as never),
      )
    } catch {
      // No answer, or none of the gateway's: the events are still in the outbox.
    }
    return [status, afterMs, verdicts]
  }
