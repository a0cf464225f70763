import type { Customer } from '../customers/customers.ts'
import { dayOf, secondsLeftOfDay, type Usage } from '../customers/usage.ts'
import type { DailyQuota } from '../http/limits.ts'
import type { Limited } from '../http/rateLimit.ts'
import type { LogEvent } from './eventLog.ts'

/** What a customer has stored today (UTC), of what it may. */
export type QuotaUse = {
  readonly events: { readonly used: number; readonly limit: number }
  /** Of payloads, UTF-8. */
  readonly bytes: { readonly used: number; readonly limit: number }
  /** When the day ends. */
  readonly secondsLeft: number
}

/** The daily quotas of all customers. What they have stored is counted by the log; here it is remembered. */
export type Quota = {
  /** Why nothing of a customer is taken any more today; undefined while its quota is not reached. */
  check(customer: Customer): Limited | undefined
  /** Counts events as stored until the log has told what they add. Answers what ends that. */
  hold(customer: Customer, events: readonly LogEvent[]): () => void
  /** Takes in sums that the log tells. */
  learn(usages: readonly Usage[]): void
  read(customer: Customer): QuotaUse
}

type Sums = { events: number; bytes: number }

/**
 * A request passes while the quota is not reached, and is then taken whole. So a batch may exceed it by its own
 * size, and no batch is larger than what is left for ever.
 *
 * @param defaults Of customers that have no quota of their own.
 * @param now The clock, ms since 1970: a day ends when the calendar says so.
 */
export function createQuota(defaults: DailyQuota, now: () => number): Quota {
  let day = dayOf(now())
  /** By customer: what is stored today, and what is on its way into the log. */
  const stored = new Map<string, Usage>()
  const held = new Map<string, Sums>()

  function today(): number {
    const current = dayOf(now())
    if (current !== day) stored.clear()
    day = current
    return day
  }

  function limitsOf({ dailyEvents, dailyBytes }: Customer): DailyQuota {
    return { events: dailyEvents ?? defaults.events, bytes: dailyBytes ?? defaults.bytes }
  }

  return {
    check(customer) {
      today()
      const { customerId } = customer
      const limits = limitsOf(customer)
      const used = stored.get(customerId)
      const coming = held.get(customerId)
      const isFull = (unit: 'events' | 'bytes') =>
        (used?.[unit] ?? 0) + (coming?.[unit] ?? 0) >= limits[unit]
      const unit = isFull('events') ? 'events' : isFull('bytes') ? 'bytes' : undefined
      return unit && { unit, retryAfterSeconds: secondsLeftOfDay(now()) }
    },
    hold({ customerId }, events) {
      const sums = held.get(customerId) ?? { events: 0, bytes: 0 }
      // Characters: near enough for what is stored a moment later.
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
      for (const usage of usages) if (usage.day === current) stored.set(usage.customer, usage)
    },
    read(customer) {
      today()
      const limits = limitsOf(customer)
      const used = stored.get(customer.customerId)
      return {
        events: { used: used?.events ?? 0, limit: limits.events },
        bytes: { used: used?.bytes ?? 0, limit: limits.bytes },
        secondsLeft: secondsLeftOfDay(now()),
      }
    },
  }
}
