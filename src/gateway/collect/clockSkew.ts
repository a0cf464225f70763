import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'

/** An event that claims to be older than this was told by a broken clock, days: over the longest `maxAgeDays`. */
const MAX_AGE_DAYS = 400
const DAY_MS = 86_400_000
/** A clock that is off by no more is taken for right, ms: longer than any request is on its way. */
const TOLERANCE_MS = 60_000
/** Devices with a wrong clock that are remembered. */
const MAX_DEVICES = 10_000
/** A name of a device up to this length is kept as it is, characters; the contract sets no bound. */
const MAX_NAME_LENGTH = 128

/**
 * When an event happened, by the gateway's clock, ms since 1970.
 *
 * @param device Whose clock it is.
 * @param at When it happened, by the sender's clock.
 * @param sent When it was sent, by the same clock. Without it `at` is believed where it can be true.
 * @param receivedAt When it arrived, by ours: the answer where the others make no sense.
 */
export type CorrectTime = (device: string, at: unknown, sent: unknown, receivedAt: number) => number

/**
 * Corrects moments told by clocks that may be wrong by years. How far a clock is off shows in each
 * request, `receivedAt - sent`, but with the request's own time on its way in it: corrected by that, the
 * events of a device would change places. So a clock that is about right is believed as it is, and of
 * one that is not the first measurement holds until a later one tells of another clock.
 */
export function createClockSkew(): CorrectTime {
  const offsets = new LRUCache<string, number>({ max: MAX_DEVICES })

  const offsetOf = (device: string, measured: number): number => {
    const known = offsets.get(device)
    if (known !== undefined && Math.abs(measured - known) <= TOLERANCE_MS) return known
    if (Math.abs(measured) <= TOLERANCE_MS) return 0
    offsets.set(device, measured)
    return measured
  }

  return (device, at, sent, receivedAt) => {
    if (!isTime(at)) return receivedAt
    const corrected = at + (isTime(sent) ? offsetOf(shorten(device), receivedAt - sent) : 0)
    const age = receivedAt - corrected
    return age >= -TOLERANCE_MS && age <= MAX_AGE_DAYS * DAY_MS ? Math.round(corrected) : receivedAt
  }
}

/** A name that is kept for long, in bounded memory. */
const shorten = (device: string): string =>
  device.length <= MAX_NAME_LENGTH ? device : createHash('sha256').update(device).digest('base64')

const isTime = (value: unknown): value is number =>
  typeof value === 'number' && Number.isFinite(value) && value > 0
