/** What a page says of a customer's daily quota, before it is reached and then. */

/** From this share of a quota on it is said. */
const NEAR = 0.8

/**
 * @typedef {{ used: number, limit: number }} Use
 * @param {{ events: Use, bytes: Use, secondsLeft: number }} quota As the gateway tells it: of today, UTC.
 * @returns {{ state: 'near' | 'reached', text: string } | undefined} Nothing where there is enough left.
 */
export function describeQuota({ events, bytes, secondsLeft }) {
  const isEvents = events.used / events.limit >= bytes.used / bytes.limit
  const { used, limit } = isEvents ? events : bytes
  const whole = isEvents ? `${writeCount(limit)} events` : `${writeBytes(limit)} of events`
  const left = writeTime(secondsLeft)
  if (used >= limit)
    return {
      state: 'reached',
      text: `Today’s ${whole} are used up. New events are refused until midnight UTC, in ${left}; pages keep theirs and send them then.`,
    }
  if (used / limit < NEAR) return undefined
  const percent = Math.floor((used / limit) * 100)
  return {
    state: 'near',
    text: `${percent} % of today’s ${whole} are used. Above that, new events wait in the pages until midnight UTC, in ${left}.`,
  }
}

const writeCount = (/** @type {number} */ count) =>
  count < 1e6
    ? count.toLocaleString('en')
    : new Intl.NumberFormat('en', { notation: 'compact', compactDisplay: 'long' }).format(count)

function writeBytes(/** @type {number} */ bytes) {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']
  let value = bytes
  while (value >= 1024 && units.length > 1) {
    value /= 1024
    units.shift()
  }
  return `${value.toLocaleString('en', { maximumFractionDigits: 1 })} ${units[0]}`
}

function writeTime(/** @type {number} */ seconds) {
  const minutes = Math.max(1, Math.round(seconds / 60))
  const hours = Math.floor(minutes / 60)
  if (hours === 0) return minutes === 1 ? 'a minute' : `${minutes} minutes`
  return `${hours} h ${minutes % 60} min`
}
