import { now } from '../lib/now.ts'
import type { Served } from './describeConsent.ts'

/** What the gateway answers about a key. */
export type GatewayFacts = {
  readonly version: string | undefined
  /** The settings of the key, without those of the tag. */
  readonly settings: Served | undefined
  readonly clock: ClockFacts | undefined
}

/** The clock of this browser, compared with that of the gateway. */
export type ClockFacts = {
  /** How far the gateway is ahead, ms. */
  readonly aheadMs: number
  /** The difference may be wrong by this much, ms: `Date` has whole seconds, and the answer took some time. */
  readonly errorMs: number
}

/**
 * Asks for the settings of a key as JSON, an answer that is never cached. Its header `Date` is the gateway's clock.
 *
 * @param base The gateway's address.
 * @returns Undefined if there is no answer: the page's policy (connect-src) or the network prevents it.
 */
export async function askGateway(
  base: string,
  key: string,
  get: typeof fetch = fetch,
): Promise<GatewayFacts | undefined> {
  try {
    const before = now()
    const answer = await get(`${base}/t/j/${encodeURIComponent(key)}`, {
      headers: { accept: 'application/json' },
      credentials: 'omit',
    })
    const clock = readClock(answer.headers.get('date'), before, now())
    const { version, config } = await answer.json()
    return { version, settings: config, clock }
  } catch {
    return undefined
  }
}

/** Half of the second that `Date` leaves out, ms. */
const HALF_SECOND_MS = 500

/** @param date The header `Date`. A gateway or a proxy may not let pages read it. */
export function readClock(
  date: string | null,
  before: number,
  after: number,
): ClockFacts | undefined {
  const time = date ? Date.parse(date) : Number.NaN
  if (Number.isNaN(time)) return undefined
  return {
    aheadMs: time + HALF_SECOND_MS - (before + after) / 2,
    errorMs: HALF_SECOND_MS + (after - before) / 2,
  }
}

/** The difference in words. */
export function describeClock(clock: ClockFacts | undefined): string {
  if (!clock) return 'unknown: the answer of the gateway has no Date that this page may read'
  const { aheadMs, errorMs } = clock
  const error = `± ${(Math.ceil(errorMs / 100) / 10).toFixed(1)} s`
  if (Math.abs(aheadMs) <= errorMs) return `in step with the gateway (${error})`
  return `${durationText(Math.round(Math.abs(aheadMs) / 1_000) * 1_000)} ${aheadMs > 0 ? 'behind' : 'ahead of'} the gateway (${error}); the gateway corrects the times of events`
}

const UNITS = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
] as const

/** A duration in its two largest units: `2 h 3 min`, `1.6 s`, `43 ms`. */
export function durationText(ms: number): string {
  const whole = Math.round(ms)
  if (whole < 1_000) return `${whole} ms`
  if (whole < 10_000) return `${(whole / 1_000).toFixed(1)} s`
  const first = UNITS.findIndex(([unit]) => whole >= unit)
  return UNITS.slice(first, first + 2)
    .map(([unit, name], index) => {
      const count = Math.floor(index ? (whole % (UNITS[first]?.[0] ?? 1)) / unit : whole / unit)
      return index && !count ? '' : `${count} ${name}`
    })
    .filter(Boolean)
    .join(' ')
}
