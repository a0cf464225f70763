import type { EmailReport } from '../contract/index.ts'

const NOTHING = { orders: 0, revenue: '0.00' }

/** What a day of a report has without orders. */
export const NO_ORDERS_OF_DAY = NOTHING

/** The fields of a report without orders, with the default settings. */
export const NO_ORDERS = {
  time_zone: 'UTC',
  currency: 'EUR',
  ...NOTHING,
  average_order: '0.00',
  revenue_per_visitor: '0.00',
  refunds: { ...NOTHING, statuses: {} },
  statuses: {},
  other_currencies: {},
} satisfies Partial<EmailReport>
