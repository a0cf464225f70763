import { connect } from './driver.ts'

/** The ids in customers.db, read only. Synchronous. */
export type CustomerIds = {
  has(customer: string): boolean
  close(): void
}

/** @param file Path of customers.db. It exists. */
export function openCustomerIds(file: string): CustomerIds {
  const database = connect(file, { readonly: true, timeout: 5_000 })
  const find = database
    .prepare<[string], number>('SELECT 1 FROM customers WHERE customer_id = ?')
    .pluck()
  return {
    has: (customer) => find.get(customer) !== undefined,
    close: () => void database.close(),
  }
}
