import type { Database } from 'better-sqlite3'

/**
 * How long the number of a closed order is kept after the closing, ms, so that the order is not counted again when a
 * shop saves it again.
 */
export const CLOSED_ORDERS_MS = 90 * 86_400_000
/** Rows that one step looks at. A step ends with a whole address, which may have MAX_ADDRESS_DEVICES more. */
const STEP_ROWS = 2_000
/** Hashes of 16 bytes are between these. */
const [FIRST, LAST] = [Buffer.alloc(0), Buffer.alloc(17, 0xff)]

/** Where the next step continues: after the links of an address, or after the number of an order. */
export type OrdersPlace = { readonly of: 'links' | 'orders'; readonly after: Buffer }

/**
 * Each step reads rows of the customer only, in the order of an index that begins with it: other customers may have
 * millions.
 *
 * @returns `forgetBefore` of ReportOrders.
 */
export function createOrdersForgetting(
  database: Database,
): (customer: number, since: number, from?: OrdersPlace) => OrdersPlace | undefined {
  const endOf = (table: string, hash: string) =>
    database
      .prepare<[number, Buffer], Buffer>(
        `SELECT ${hash} FROM ${table} WHERE customer = ? AND ${hash} > ?
         ORDER BY ${hash} LIMIT 1 OFFSET ${STEP_ROWS - 1}`,
      )
      .pluck()
  const endOfLinks = endOf('links', 'address')
  const endOfOrders = endOf('orders', 'number')
  type Step = { customer: number; since: number; after: Buffer; end: Buffer }
  const dropLinks = database.prepare<[Step]>(
    `DELETE FROM links WHERE customer = @customer AND address > @after AND address <= @end AND last < @since
       AND NOT EXISTS (
         SELECT 1 FROM devices WHERE devices.customer = links.customer AND devices.hash = links.device
       )`,
  )
  const closeOrders = database.prepare<[Step]>(
    `UPDATE orders SET seq = NULL, address = NULL, total = 0, currency = '', status = NULL,
       visit_at = NULL, visit_id = NULL, utm = NULL, device = NULL, bot = NULL
     WHERE customer = @customer AND number > @after AND number <= @end AND at < @since AND seq IS NOT NULL`,
  )
  const dropOrders = database.prepare<[Step & { before: number }]>(
    `DELETE FROM orders WHERE customer = @customer AND number > @after AND number <= @end
       AND (at IS NULL OR at < @since) AND arrived < @before`,
  )

  return (customer, since, { of, after } = { of: 'links', after: FIRST }) => {
    if (of === 'links') {
      const end = endOfLinks.get(customer, after)
      dropLinks.run({ customer, since, after, end: end ?? LAST })
      return end ? { of, after: end } : { of: 'orders', after: FIRST }
    }
    const end = endOfOrders.get(customer, after)
    const step = { customer, since, after, end: end ?? LAST }
    closeOrders.run(step)
    dropOrders.run({ ...step, before: since - CLOSED_ORDERS_MS })
    return end && { of, after: end }
  }
}
