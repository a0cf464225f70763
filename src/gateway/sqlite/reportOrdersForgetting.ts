import type { Database } from 'better-sqlite3'

/**
 * How long the number of a closed order is kept after the closing, ms, so that the order is not counted again when a
 * shop saves it again.
 */
export const CLOSED_ORDERS_MS = 90 * 86_400_000
/** Rows that one step of the functions that forget looks at. */
const STEP_ROWS = 2_000

/** @returns `forgetBefore` of ReportOrders. */
export function createOrdersForgetting(
  database: Database,
): (customer: number, since: number, after?: number) => number | undefined {
  const endOf = (table: string) =>
    database
      .prepare<[number, number], number | null>(
        `SELECT max(n) FROM (SELECT n FROM ${table} WHERE n > ? ORDER BY n LIMIT ?)`,
      )
      .pluck()
  const [endOfLinks, endOfOrders] = [endOf('links'), endOf('orders')]
  type Step = { customer: number; since: number; after: number; end: number }
  const dropLinks = database.prepare<[Step]>(
    `DELETE FROM links WHERE n > @after AND n <= @end AND customer = @customer AND last < @since
       AND NOT EXISTS (
         SELECT 1 FROM devices WHERE devices.customer = links.customer AND devices.hash = links.device
       )`,
  )
  const closeOrders = database.prepare<[Step]>(
    `UPDATE orders SET seq = NULL, address = NULL, total = 0, currency = '', status = NULL,
       visit_at = NULL, visit_id = NULL, utm = NULL, device = NULL, bot = NULL
     WHERE n > @after AND n <= @end AND customer = @customer AND at < @since AND seq IS NOT NULL`,
  )
  const dropOrders = database.prepare<[Step & { before: number }]>(
    `DELETE FROM orders WHERE n > @after AND n <= @end AND customer = @customer
       AND (at IS NULL OR at < @since) AND arrived < @before`,
  )
  // Steps of the orders are positive, and those of the links, which come first, are negative.
  return (customer, since, after = Number.MIN_SAFE_INTEGER) => {
    if (after < 0) {
      const from = after === Number.MIN_SAFE_INTEGER ? 0 : -after
      const end = endOfLinks.get(from, STEP_ROWS)
      if (end === null || end === undefined) return 0
      dropLinks.run({ customer, since, after: from, end })
      return -end
    }
    const end = endOfOrders.get(after, STEP_ROWS)
    if (end === null || end === undefined) return undefined
    const step = { customer, since, after, end }
    closeOrders.run(step)
    dropOrders.run({ ...step, before: since - CLOSED_ORDERS_MS })
    return end
  }
}
