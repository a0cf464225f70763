import type { Config } from './config.ts'
import { now } from './lib/now.ts'
import { type Entry, idOf } from './outbox.ts'

/** An attempt without an answer is given up after this, ms. */
const TIMEOUT_MS = 30_000
/** A gateway that asks for more patience is asked again after this all the same, ms. */
const MAX_RETRY_AFTER_MS = 3_600_000

/** What an attempt did to an event: taken (2xx), refused for good with its reason (4xx), unknown (0). */
export type Result = { readonly status: number; readonly message?: string }

/** What an attempt did. */
export type Answer = {
  /** The answer's HTTP status; 0 when none came. */
  readonly status: number
  /** For each event, in order. */
  readonly results: readonly Result[]
  /** How long the gateway asks to wait, ms; 0 where it does not say. */
  readonly afterMs: number
}

/** One attempt: sends events of one tracking key in one request. Never rejects. */
export type Send = (
  config: Config,
  entries: readonly Entry[],
  keepalive: boolean,
) => Promise<Answer>

const UNKNOWN: Result = { status: 0 }

/** @param post The page's fetch. */
export const createSend =
  (post: typeof fetch): Send =>
  async (config, entries, keepalive) => {
    const giveUp = new AbortController()
    const timer = setTimeout(() => giveUp.abort(), TIMEOUT_MS)
    let status = 0
    let results: Result[] = entries.map(() => UNKNOWN)
    let afterMs = 0
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
            : `{"sent":${sent},"events":[${entries
                .map(({ name, at, body }) => `{"id":"${idOf(name)}","at":${at},"payload":${body}}`)
                .join()}]}`,
          keepalive,
          credentials: 'omit',
          referrerPolicy: 'origin',
          // A redirect is then an answer that acknowledges nothing.
          redirect: 'manual',
          signal: giveUp.signal,
        },
      )
      const { ok } = response
      status = response.status
      // Retry-After in seconds or as a date (RFC 9110, 10.2.3); nonsense says nothing.
      const after = response.headers.get('retry-after') as string
      afterMs = Math.min(+after * 1000 || Date.parse(after) - sent || 0, MAX_RETRY_AFTER_MS)
      const answer = await response.json().catch(() => 0)
      results = entries.map(({ name }) => {
        const id = idOf(name)
        const verdicts = !ok || one ? [{ id: ok || id, ...answer, status }] : answer.results
        const verdict: Result | undefined =
          config.anyOk && ok
            ? { status }
            : verdicts.find((named: { id: unknown }) => named.id === id)
        // Final is only a 4xx that gives a reason: proxies and captive portals answer errors too.
        return verdict &&
          (/^2/.test(`${verdict.status}`) ||
            (verdict.message && /^4(?!08|25|29)/.test(`${verdict.status}`)))
          ? verdict
          : UNKNOWN
      })
    } catch {
      // No answer, or none of the gateway's: the events are still in the outbox.
    }
    clearTimeout(timer)
    return { status, results, afterMs }
  }
