import type { Usage } from '../customers/usage.ts'

/** What the follower that holds a partition has counted. */
export type UsageReport = {
  /** Every event up to this position of the partition is counted in the sums. */
  readonly position: number
  /** The sums of all customers of the partition, or of those whose sums have changed since the report before. */
  readonly usages: readonly Usage[]
}

/** Customers of one report. More are left out when it is read. */
const MAX_USAGES = 100_000

/** A report as the data of a message on the usage subject of a partition: JSON. */
export const encodeUsage = (report: UsageReport): string => JSON.stringify(report)

/** The report of a message. Undefined if it is not such a message. */
export function decodeUsage(data: Uint8Array): UsageReport | undefined {
  try {
    const { position, usages }: Partial<UsageReport> = JSON.parse(Buffer.from(data).toString())
    if (!Number.isSafeInteger(position) || !Array.isArray(usages)) return undefined
    return {
      position: position as number,
      usages: usages.slice(0, MAX_USAGES).filter(isUsage).map(complete),
    }
  } catch {
    return undefined
  }
}

/** A follower of an earlier version counts everything for the pages, and does not write `isServer`. */
export const complete = (usage: Usage): Usage => ({ ...usage, isServer: usage.isServer === true })

function isUsage(value: unknown): value is Usage {
  if (typeof value !== 'object' || value === null) return false
  const { customer, day, events, bytes } = value as Partial<Usage>
  return (
    typeof customer === 'string' &&
    [day, events, bytes].every((number) => Number.isSafeInteger(number))
  )
}
