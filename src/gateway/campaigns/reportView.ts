import type { Customers } from '../customers/customers.ts'
import { DEFAULT_ORDER_SETTINGS, type OrderSettings } from '../customers/orderSettings.ts'

/** How a report is counted: settings of its customer, and what the caller asked for. */
export type ReportView = OrderSettings & {
  /** Whether the figures include bots. */
  readonly bots: boolean
}

/** That of a customer without settings of its own. */
export const DEFAULT_VIEW: ReportView = { ...DEFAULT_ORDER_SETTINGS, bots: false }

/** The settings of a customer's reports. Those of DEFAULT_VIEW if it was removed. */
export function viewOf(
  customers: Pick<Customers, 'find'>,
  customerId: string,
  bots = false,
): ReportView {
  const { currency, timeZone, refundStatuses } = customers.find(customerId) ?? DEFAULT_VIEW
  return { currency, timeZone, refundStatuses, bots }
}
