import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createSqliteCustomers, type SqliteCustomers } from './customers.ts'
import { connect } from './driver.ts'
import { isMirrored } from './mirrorRows.ts'

/**
 * Opens the copy of a cluster's customers, to use it before the cluster can be reached.
 *
 * @param dataDir Folder of customers.db.
 * @returns Undefined if the copy is missing or was never complete.
 */
export function openKnownCustomers(
  dataDir: string,
  now: () => number,
): SqliteCustomers | undefined {
  const file = join(dataDir, 'customers.db')
  return existsSync(file) && wasComplete(file) ? createSqliteCustomers(file, now) : undefined
}

function wasComplete(file: string): boolean {
  const database = connect(file, { readonly: true, fileMustExist: true })
  try {
    return (
      isMirrored(database) &&
      database.prepare('SELECT 1 FROM mirror_state WHERE reached_at > 0').get() !== undefined
    )
  } finally {
    database.close()
  }
}
