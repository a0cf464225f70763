/** The notice about a customer's daily quota: when most of it is used, and when it is reached. */

/** The notice appears from this share of a quota on. */
const NEAR = 0.8

type Use = { readonly used: number; readonly limit: number }

/** A customer's use of its daily quota (UTC), as the gateway reports it. */
export type DailyUse = {
  readonly events: Use
  readonly bytes: Use
  /** Until midnight UTC. */
  readonly secondsLeft: number
}

export type QuotaNotice = { readonly state: 'near' | 'reached'; readonly text: string }

/** @returns The notice; undefined if enough of the quota is left. */
export function describeQuota({ events, bytes, secondsLeft }: DailyUse): QuotaNotice | undefined {
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

const writeCount = (count: number): string =>
  count < 1e6
    ? count.toLocaleString('en')
    : new Intl.NumberFormat('en', { notation: 'compact', compactDisplay: 'long' }).format(count)

function writeBytes(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']
  let value = bytes
  while (value >= 1024 && units.length > 1) {
    value /= 1024
    units.shift()
  }
  return `${value.toLocaleString('en', { maximumFractionDigits: 1 })} ${units[0]}`
}

function writeTime(seconds: number): string {
  const minutes = Math.max(1, Math.round(seconds / 60))
  const hours = Math.floor(minutes / 60)
  if (hours === 0) return minutes === 1 ? 'a minute' : `${minutes} minutes`
  return `${hours} h ${minutes % 60} min`
}
