import { connect } from './driver.ts'
import { readStatuses } from './refundStatuses.ts'

/** What forwarding reads of customers.db, read only. Synchronous. */
export type CustomerIds = {
  has(customer: string): boolean
  /** Statuses of the customer's orders that are refunds, in lower case. */
  refundStatuses(customer: string): readonly string[]
  close(): void
}

/** @param file Path of customers.db. It exists. */
export function openCustomerIds(file: string): CustomerIds {
  const database = connect(file, { readonly: true, timeout: 5_000 })
  const find = database
    .prepare<[string], number>('SELECT 1 FROM customers WHERE customer_id = ?')
    .pluck()
  const findStatuses = () =>
    database
      .prepare<[string], string | null>(
        'SELECT refund_statuses FROM order_settings WHERE customer_id = ?',
      )
      .pluck()
  let statuses: ReturnType<typeof findStatuses> | undefined
  return {
    has: (customer) => find.get(customer) !== undefined,
    refundStatuses(customer) {
      // Prepared late: the commands also open files of earlier versions, which do not have the table.
      statuses ??= findStatuses()
      return readStatuses(statuses.get(customer) ?? null).value
    },
    close: () => void database.close(),
  }
}
