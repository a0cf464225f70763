/** The notice about a customer's daily quota: when most of it is used, and when it is reached. */

/** The notice appears from this share of a quota on. */
const NEAR = 0.8

type Use = { readonly used: number; readonly limit: number }

/** A customer's use of its daily quota (UTC), as the gateway reports it: of its pages, and of its servers. */
export type DailyUse = {
  readonly events: Use
  readonly bytes: Use
  readonly servers: { readonly events: Use; readonly bytes: Use }
  /** Until midnight UTC. */
  readonly secondsLeft: number
}

export type QuotaNotice = { readonly state: 'near' | 'reached'; readonly text: string }

/** @returns The notice about pages or servers, whoever has used more. Undefined if enough of the quota is left. */
export function describeQuota(use: DailyUse): QuotaNotice | undefined {
  const left = writeTime(use.secondsLeft)
  const pages = mostUsed(use, 'events')
  const servers = mostUsed(use.servers, 'calls of servers')
  const isServers = servers.share > pages.share
  const { share, whole } = isServers ? servers : pages
  if (share < NEAR) return undefined
  if (share >= 1)
    return {
      state: 'reached',
      text: isServers
        ? `Today’s ${whole} are used up. Orders and subscribers are refused until midnight UTC, in ${left}.`
        : `Today’s ${whole} are used up. New events are refused until midnight UTC, in ${left}; pages keep theirs and send them then.`,
    }
  const above = isServers ? 'orders and subscribers are refused' : 'new events wait in the pages'
  return {
    state: 'near',
    text: `${Math.floor(share * 100)} % of today’s ${whole} are used. Above that, ${above} until midnight UTC, in ${left}.`,
  }
}

/** The limit of which the higher share is used, in words. */
function mostUsed({ events, bytes }: Pick<DailyUse, 'events' | 'bytes'>, what: string) {
  const shares = [events.used / events.limit, bytes.used / bytes.limit] as const
  return shares[0] >= shares[1]
    ? { share: shares[0], whole: `${writeCount(events.limit)} ${what}` }
    : { share: shares[1], whole: `${writeBytes(bytes.limit)} of ${what}` }
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
