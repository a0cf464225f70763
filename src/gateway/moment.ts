/** An event that claims to be older than this was told by a broken clock, days: over the longest `maxAgeDays`. */
const MAX_AGE_DAYS = 400
const DAY_MS = 86_400_000

/**
 * When an event happened, by the gateway's clock, ms since 1970. A page's clock may be wrong by years;
 * the time between the event and its sending, told by the same clock, is right all the same.
 *
 * @param at When it happened, by the sender's clock.
 * @param sent When it was sent, by the same clock. Without it `at` is believed where it can be true.
 * @param receivedAt When it arrived, by ours: the answer where the others make no sense.
 */
export function correctedAt(at: unknown, sent: unknown, receivedAt: number): number {
  if (!isMoment(at)) return receivedAt
  const corrected = isMoment(sent) ? receivedAt - (sent - at) : at
  const age = receivedAt - corrected
  return age >= 0 && age <= MAX_AGE_DAYS * DAY_MS ? Math.round(corrected) : receivedAt
}

const isMoment = (value: unknown): value is number =>
  typeof value === 'number' && Number.isFinite(value) && value > 0
