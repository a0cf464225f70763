import type { Customer } from '../customers/customers.ts'
import { dayOf, secondsLeftOfDay, type Usage } from '../customers/usage.ts'
import type { DailyQuota } from '../http/limits.ts'
import type { Limited } from '../http/rateLimit.ts'
import type { LogEvent } from './eventLog.ts'

type Use = {
  readonly events: { readonly used: number; readonly limit: number }
  /** Of payloads, UTF-8. */
  readonly bytes: { readonly used: number; readonly limit: number }
}

/** How much of its quota a customer has used today (UTC): its pages, and its servers. */
export type QuotaUse = Use & {
  readonly servers: Use
  /** Until the day ends. */
  readonly secondsLeft: number
}

/**
 * The daily quotas of all customers. The log counts what they have stored and reports it here.
 *
 * A customer has its quota once for its pages and once for its servers (`isServer`, see Usage). Anybody can read the
 * tracking key in a page and use up the quota of the pages. The servers can then still store orders.
 */
export type Quota = {
  /** Why a customer can store no more today. Undefined until its quota is reached. */
  check(customer: Customer, isServer: boolean): Limited | undefined
  /**
   * Counts events as stored while they are being appended.
   *
   * @returns Stops counting them. Call it when the append has ended: the log has then reported the stored ones.
   */
  hold(customer: Customer, isServer: boolean, events: readonly LogEvent[]): () => void
  /** Receives the sums that the log reports. */
  learn(usages: readonly Usage[]): void
  read(customer: Customer): QuotaUse
}

/**
 * A request passes if the quota is not reached yet, whatever its size. So a batch may exceed the quota by its own size,
 * but a large batch is not refused again and again at the end of a day.
 *
 * @param defaults Quota of customers that have none of their own.
 * @param now The clock, ms since 1970. It decides when a day ends.
 */
export function createQuota(defaults: DailyQuota, now: () => number): Quota {
  let day = dayOf(now())
  const pages = createSums()
  const servers = createSums()
  const sumsOf = (isServer: boolean): Sums => (isServer ? servers : pages)

  function today(): number {
    const current = dayOf(now())
    if (current !== day) for (const { stored } of [pages, servers]) stored.clear()
    day = current
    return day
  }

  function limitsOf({ dailyEvents, dailyBytes }: Customer): DailyQuota {
    return { events: dailyEvents ?? defaults.events, bytes: dailyBytes ?? defaults.bytes }
  }

  function useOf(customer: Customer, { stored }: Sums): Use {
    const limits = limitsOf(customer)
    const used = stored.get(customer.customerId)
    return {
      events: { used: used?.events ?? 0, limit: limits.events },
      bytes: { used: used?.bytes ?? 0, limit: limits.bytes },
    }
  }

  return {
    check(customer, isServer) {
      today()
      const { customerId } = customer
      const limits = limitsOf(customer)
      const { stored, held } = sumsOf(isServer)
      const used = stored.get(customerId)
      const coming = held.get(customerId)
      const isFull = (unit: 'events' | 'bytes') =>
        (used?.[unit] ?? 0) + (coming?.[unit] ?? 0) >= limits[unit]
      const unit = isFull('events') ? 'events' : isFull('bytes') ? 'bytes' : undefined
      return unit && { unit, retryAfterSeconds: secondsLeftOfDay(now()) }
    },
    hold({ customerId }, isServer, events) {
      const { held } = sumsOf(isServer)
      const sums = held.get(customerId) ?? { events: 0, bytes: 0 }
      // Characters, not bytes: exact enough until the log reports the bytes.
      const bytes = events.reduce((sum, { payload }) => sum + payload.length, 0)
      sums.events += events.length
      sums.bytes += bytes
      held.set(customerId, sums)
      return () => {
        sums.events -= events.length
        sums.bytes -= bytes
        if (sums.events === 0) held.delete(customerId)
      }
    },
    learn(usages) {
      const current = today()
      for (const usage of usages)
        if (usage.day === current) sumsOf(usage.isServer).stored.set(usage.customer, usage)
    },
    read(customer) {
      today()
      return {
        ...useOf(customer, pages),
        servers: useOf(customer, servers),
        secondsLeft: secondsLeftOfDay(now()),
      }
    },
  }
}

/** By customer: what is stored today, and what is being appended. */
const createSums = () => ({
  stored: new Map<string, Usage>(),
  held: new Map<string, { events: number; bytes: number }>(),
})

type Sums = ReturnType<typeof createSums>
