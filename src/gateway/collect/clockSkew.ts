import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'

/** The time of an event that seems older than this is not used, days. More than the longest `maxAgeDays`. */
const MAX_AGE_DAYS = 400
const DAY_MS = 86_400_000
/** A clock with a smaller skew counts as right, ms. Longer than a request takes to arrive. */
const TOLERANCE_MS = 60_000
/** The most devices whose skew is kept in memory. */
const MAX_DEVICES = 10_000
/** Longer names of devices are hashed to bound the memory, characters. */
const MAX_NAME_LENGTH = 128

/**
 * When an event happened, by the gateway's clock, ms since 1970.
 *
 * @param device The device whose clock it is.
 * @param at When it happened, by the clock of the sender.
 * @param sent When it was sent, by the same clock. Without it, `at` is used as it is if it is plausible.
 * @param receivedAt When it arrived, by the gateway's clock. This is the result if the others are not plausible.
 */
export type CorrectTime = (device: string, at: unknown, sent: unknown, receivedAt: number) => number

/**
 * Corrects times of clocks that may be wrong by years. The skew of a clock is `receivedAt - sent`, but this contains
 * the time that the request took. That time differs between requests, so correcting each event by its own measurement
 * would change the order of a device's events. So a clock that is about right is not corrected. For a wrong clock the
 * first measurement is used until a later one differs from it by more than the tolerance.
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

const shorten = (device: string): string =>
  device.length <= MAX_NAME_LENGTH ? device : createHash('sha256').update(device).digest('base64')

const isTime = (value: unknown): value is number =>
  typeof value === 'number' && Number.isFinite(value) && value > 0
