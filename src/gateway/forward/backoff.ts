/** The shortest and the longest wait between two attempts, ms. */
const BASE_MS = 1_000
const CAP_MS = 600_000
/** The longest wait that a destination can ask for, ms: a minute more than an hour, which limits often have. */
const MAX_RETRY_AFTER_MS = 3_660_000

/**
 * The wait before the next attempt, ms: exponential backoff with jitter. It is between half and the whole of the delay,
 * so that it is never very short, and destinations that failed together do not come back together.
 *
 * @param failures Attempts that have failed in a row, from 1.
 * @param random From 0 to 1.
 * @param retryAfterMs What the destination asks for. It is the shortest wait, up to a bound. Default 0.
 */
export function backoff(failures: number, random: number, retryAfterMs = 0): number {
  const delay = Math.min(CAP_MS, BASE_MS * 2 ** Math.min(failures - 1, 30))
  const asked = Math.min(Math.max(retryAfterMs, 0) || 0, MAX_RETRY_AFTER_MS)
  return Math.ceil(Math.max(asked, (delay * (1 + random)) / 2))
}
