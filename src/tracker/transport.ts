import type { Verdict } from '../contract/delivery.ts'
import type { Config } from './config.ts'
import { now } from './lib/now.ts'
import { type Entry, idOf } from './outbox.ts'

/** An attempt without an answer is given up after this, ms. */
const TIMEOUT_MS = 30_000
/** A gateway that asks for more patience is asked again after this all the same, ms. */
const MAX_RETRY_AFTER_MS = 3_600_000

/** What an attempt did. */
export type Answer = {
  /** The answer's HTTP status; 0 when none came. */
  readonly status: number
  /** How long the gateway asks to wait, ms; 0 or less where it does not say. */
  readonly afterMs: number
  /** For each event, in order: taken (2xx), refused for good (400, 413, 422); missing where it is not known. */
  readonly results: readonly (Verdict | undefined)[]
}

/** One attempt: sends events of one tracking key in one request. Never rejects. */
export type Send = (
  config: Config,
  entries: readonly Entry[],
  keepalive: boolean,
) => Promise<Answer>

/** @param post The page's fetch. */
export const createSend =
  (post: typeof fetch): Send =>
  async (config, entries, keepalive) => {
    let status = 0
    let afterMs = 0
    let results: (Verdict | undefined)[] = []
    try {
      const sent = now()
      const one = entries.length < 2 && entries[0]
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
                ({ name, at, body }) => `{"id":"${idOf(name)}","at":${at},"payload":${body}}`,
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
      status = response.status
      // Retry-After in seconds or as a date (RFC 9110, 10.2.3); nonsense says nothing.
      const after = response.headers.get('retry-after') as string
      afterMs = Math.min(
        +after * 1000 || (after && +new Date(after) - sent) || 0,
        MAX_RETRY_AFTER_MS,
      )
      // From the script's tag it is text.
      if (response.ok && config.anyOk) results = entries.map(({ name: id }) => ({ id, status }))
      else {
        const answer = await response.json()
        const verdicts: Verdict[] = one ? [{ ...answer, status }] : answer.results
        // A verdict on the event itself, which names it: proxies and captive portals answer errors too, and
        // 401, 403 and 404 speak of a configuration, which somebody will mend.
        results = entries.map(({ name }) =>
          verdicts.find(
            ({ id, status }) => id === idOf(name) && /^2|^4(00|13|22)/.test(`${status}`),
          ),
        )
      }
    } catch {
      // No answer, or none of the gateway's: the events are still in the outbox.
    }
    return { status, afterMs, results }
  }
