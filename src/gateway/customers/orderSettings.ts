/** How a customer's orders are read and reported. */
export type OrderSettings = {
  /** ISO 4217 code of the money in orders that are saved from now on, in upper case. */
  readonly currency: string
  /** IANA name of the time zone whose days its reports have. */
  readonly timeZone: string
  /** Statuses of an order that is not paid, or paid back: trimmed, in lower case, as `readRefundStatus` returns them. */
  readonly refundStatuses: readonly string[]
}

/** A change of these settings. Absent ones stay as they are. */
export type OrderSettingsChange = {
  readonly currency?: string
  readonly timeZone?: string
  /** Null: those of DEFAULT_ORDER_SETTINGS. An empty list: no order counts as a refund. */
  readonly refundStatuses?: readonly string[] | null
}

export const DEFAULT_ORDER_SETTINGS: OrderSettings = {
  currency: 'EUR',
  timeZone: 'UTC',
  refundStatuses: [
    ...['refunded', 'cancelled', 'canceled', 'returned', 'failed', 'voided', 'denied'],
    ...['reversed', 'chargeback', 'chargedback', 'expired'],
  ],
}

/** How many refund statuses a customer has at most. Shops have a few states in a few languages. */
export const MAX_REFUND_STATUSES = 100
/** Length of one, characters (UTF-16). */
export const MAX_REFUND_STATUS_LENGTH = 100

/** Currencies that ISO 4217 lists and that are no money of a shop: metals, tests, no currency, units of account. */
const NO_MONEY: ReadonlySet<string> = new Set([
  ...['XAG', 'XAU', 'XBA', 'XBB', 'XBC', 'XBD', 'XDR', 'XPD', 'XPT', 'XSU', 'XTS', 'XUA', 'XXX'],
])

let currencies: ReadonlySet<string> | undefined

/** The code in upper case. Undefined if ISO 4217, as Intl knows it, has no such currency. */
export function readCurrency(text: string): string | undefined {
  // Made at the first use, since it takes some milliseconds.
  currencies ??= new Set(Intl.supportedValuesOf('currency').filter((code) => !NO_MONEY.has(code)))
  const code = text.trim().toUpperCase()
  return currencies.has(code) ? code : undefined
}

/** The names that were read, so that a stored one is not looked up with every request. */
const zones = new Map<string, string | undefined>()
const MAX_ZONES = 1_000

/**
 * The name as IANA writes it: `europe/bucharest` is `Europe/Bucharest`. Undefined if Intl does not know it, and for an
 * offset such as `+02:00`, which does not follow summer time.
 */
export function readTimeZone(text: string): string | undefined {
  const name = text.trim()
  // The longest name has 32 characters.
  if (name.length > 64 || !/^[A-Za-z]/.test(name)) return undefined
  if (zones.has(name)) return zones.get(name)
  const zone = findZone(name)
  if (zones.size >= MAX_ZONES) zones.clear()
  zones.set(name, zone)
  return zone
}

function findZone(name: string): string | undefined {
  try {
    const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions()
    // Intl may return an older name of the same zone: Europe/Kiev for Europe/Kyiv.
    return timeZone.toLowerCase() === name.toLowerCase() ? timeZone : name
  } catch {
    return undefined
  }
}

/** The status as it is compared: trimmed, in lower case. Undefined if it is empty or too long. */
export function readRefundStatus(text: string): string | undefined {
  const status = normalizeStatus(text)
  return status.length > 0 && status.length <= MAX_REFUND_STATUS_LENGTH ? status : undefined
}

/** An order's status as refund statuses are compared with it. */
export const normalizeStatus = (text: string): string => text.trim().toLowerCase()
