/** How a report is counted: settings of its customer, and what the caller asked for. */
export type ReportView = {
  /** IANA name of the time zone of the days. */
  readonly timeZone: string
  /** ISO 4217 code. Orders in other currencies are counted apart. */
  readonly currency: string
  /** Statuses of orders that are refunds, trimmed and in lower case. */
  readonly refundStatuses: readonly string[]
  /** Whether the figures include bots. */
  readonly bots: boolean
}

/** That of a customer without settings of its own. */
export const DEFAULT_VIEW: ReportView = {
  timeZone: 'UTC',
  currency: 'EUR',
  refundStatuses: ['refunded', 'cancelled', 'canceled', 'returned', 'failed'],
  bots: false,
}
