import { CUSTOMERS_SCHEMA } from './customers.ts'
import { FORWARD_SCHEMA } from './forwardStore.ts'
import type { Schema } from './schema.ts'
import { EVENTS_SCHEMA } from './store.ts'

/**
 * The databases that are upgraded and backed up, in the order in which a backup reads them: no destination is further
 * than the log, and every customer with events is there. Not salt.db, which is to be forgotten, and not reports.db,
 * which is made again from the log.
 */
export const DATABASES: readonly { readonly name: string; readonly schema: Schema }[] = [
  { name: 'forward.db', schema: FORWARD_SCHEMA },
  { name: 'events.db', schema: EVENTS_SCHEMA },
  { name: 'customers.db', schema: CUSTOMERS_SCHEMA },
]
