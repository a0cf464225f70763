import { delay } from '@nats-io/transport-node'
import { Unavailable } from '../lib/unavailable.ts'
import type { Broker } from '../nats/broker.ts'
import { openNatsCustomers } from '../nats/customers.ts'
import { connect } from '../sqlite/driver.ts'
import { putRows } from './putRows.ts'
import type { MoveSource } from './source.ts'

/** The tables of customers.db that are moved. Operators sign in again: sessions are left out. */
const TABLES = [
  ...['customers', 'quotas', 'ignored', 'kept_addresses', 'retention', 'overlaps'],
  ...['order_settings', 'pinned_scripts', 'retired'],
]
/** How long the cluster may be away, ms. */
const PATIENCE_MS = 60_000
const RETRY_MS = 1_000

/**
 * Stores the customers in the cluster, with their keys, settings and pinned scripts.
 *
 * @param folder A folder for the local copy of what the cluster has.
 * @throws Error if the cluster has other customers too.
 */
export async function moveCustomers(
  source: MoveSource,
  broker: Broker,
  folder: string,
): Promise<void> {
  const customers = await openNatsCustomers({ broker, folder, onError() {} })
  try {
    const own = new Set([...source.customerRows('customers')].map((row) => row.customer_id))
    const others = customers.customers.list().filter(({ customerId }) => !own.has(customerId))
    if (others.length > 0)
      throw new Error(
        `The cluster has customers that DATA_DIR does not have, such as ${others[0]?.customerId}. Nothing is mixed: use an empty NATS account`,
      )
    const database = connect(customers.file, { timeout: 5_000 })
    try {
      for (const table of TABLES) putRows(database, table, source.customerRows(table))
    } finally {
      database.close()
    }
    await untilSaved(customers.saved)
  } finally {
    await customers.close()
  }
}

/** Waits until everything is stored, also while the cluster elects a leader. */
export async function untilSaved(saved: () => Promise<void>): Promise<void> {
  const until = performance.now() + PATIENCE_MS
  for (;;) {
    try {
      return await saved()
    } catch (error) {
      if (!(error instanceof Unavailable) || performance.now() > until) throw error
      await delay(RETRY_MS)
    }
  }
}
