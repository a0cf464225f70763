import {
  DEFAULT_ORDER_SETTINGS,
  MAX_REFUND_STATUS_LENGTH,
  MAX_REFUND_STATUSES,
  type OrderSettings,
  type OrderSettingsChange,
  readCurrency,
  readRefundStatus,
  readTimeZone,
} from './customers/orderSettings.ts'
import { type Fault, misused } from './lib/command.ts'

/** Options of `customer add` and `customer set`, as they were typed. */
export type OrderOptions = {
  readonly currency?: string | undefined
  readonly 'time-zone'?: string | undefined
  readonly 'refund-status'?: string[] | undefined
}

type Read = { readonly ok: true; readonly change: OrderSettingsChange } | Fault

export function readOrderOptions(options: OrderOptions): Read {
  const change: { currency?: string; timeZone?: string } = {}
  if (options.currency !== undefined) {
    const currency = readCurrency(options.currency)
    if (currency === undefined)
      return misused(
        `Expected --currency as a code of ISO 4217, such as EUR or RON: ${options.currency}`,
      )
    change.currency = currency
  }
  if (options['time-zone'] !== undefined) {
    const timeZone = readTimeZone(options['time-zone'])
    if (timeZone === undefined)
      return misused(
        `Expected --time-zone as a name of IANA, such as Europe/Bucharest or UTC: ${options['time-zone']}`,
      )
    change.timeZone = timeZone
  }
  const statuses = readRefundStatuses(options['refund-status'])
  return statuses.ok ? { ok: true, change: { ...change, ...statuses.change } } : statuses
}

/**
 * Statuses. `none` is an empty list, and `default` alone is null: those of a new customer. Beside others, `default`
 * stands for these.
 */
function readRefundStatuses(texts: readonly string[] | undefined): Read {
  if (!texts) return { ok: true, change: {} }
  if (`${texts}` === 'default') return { ok: true, change: { refundStatuses: null } }
  if (`${texts}` === 'none') return { ok: true, change: { refundStatuses: [] } }
  if (texts.includes('none')) return misused('Expected --refund-status none without others')
  const statuses = new Set<string>()
  for (const text of texts.flatMap((text) =>
    text === 'default' ? DEFAULT_ORDER_SETTINGS.refundStatuses : [text],
  )) {
    const status = readRefundStatus(text)
    if (status === undefined)
      return misused(
        `Expected --refund-status of 1 to ${MAX_REFUND_STATUS_LENGTH} characters: ${text}`,
      )
    statuses.add(status)
  }
  return statuses.size > MAX_REFUND_STATUSES
    ? misused(`Expected at most ${MAX_REFUND_STATUSES} times --refund-status`)
    : { ok: true, change: { refundStatuses: [...statuses] } }
}

/** The lines of `customer list`. */
export function linesOfOrders({ currency, timeZone, refundStatuses }: OrderSettings): string[] {
  const mark = (value: unknown, byDefault: unknown) => (value === byDefault ? ' (default)' : '')
  const { currency: money, timeZone: zone, refundStatuses: statuses } = DEFAULT_ORDER_SETTINGS
  return [
    `  currency     ${currency}${mark(currency, money)}`,
    `  time zone    ${timeZone}${mark(timeZone, zone)}`,
    `  refunds      ${refundStatuses.join(', ') || 'none'}${mark(`${refundStatuses}`, `${statuses}`)}`,
  ]
}
