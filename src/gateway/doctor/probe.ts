// A process of doctor. It opens databases only for reading, and may be killed at any time.
import { basename } from 'node:path'
import type { Database } from 'better-sqlite3'
import { DATABASES } from '../sqlite/databases.ts'

import { connect } from '../sqlite/driver.ts'
import { readIdentity } from '../sqlite/identity.ts'
import { isMirrored } from '../sqlite/mirrorRows.ts'
import { isOutdated, refuseNewer, type Schema } from '../sqlite/schema.ts'

/** What the probe says of a database. */
export type ProbedDatabase = {
  /** `ok`, or the first fault that SQLite has found. */
  readonly integrity: string
  /** Why this version of the gateway can not use it, since a newer one has written it. */
  readonly newer: string | undefined
  /** Whether the next start upgrades it. */
  readonly isOutdated: boolean
  /** Whether it is a gateway's copy of what a cluster has. */
  readonly isCopy: boolean
  readonly identity: { readonly id: string; readonly companion: string | null } | undefined
  /** When the newest event arrived, ms since 1970. Only of events.db with events. */
  readonly newest: number | undefined
  /** What was stored on each of the last days (UTC), days since 1970. Only of events.db. */
  readonly days: readonly {
    readonly day: number
    readonly events: number
    readonly bytes: number
  }[]
}

/** Whether a second process gets the lock that the first one has. */
export type ProbedLock = { readonly isLocked: boolean }

const [command, file = ''] = process.argv.slice(2)

function probeLock(): ProbedLock {
  const database = connect(file, { timeout: 0 })
  try {
    database.exec('BEGIN IMMEDIATE')
    return { isLocked: true }
  } catch (error) {
    if ((error as { code?: string }).code !== 'SQLITE_BUSY') throw error
    return { isLocked: false }
  } finally {
    database.close()
  }
}

function probeDatabase(): ProbedDatabase {
  const database = connect(file, { readonly: true, fileMustExist: true, timeout: 5_000 })
  const schema = DATABASES.find(({ name }) => name === basename(file))?.schema
  try {
    const has = (table: string) =>
      database.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?').get(table) !== undefined
    return {
      integrity: String(database.pragma('quick_check(1)', { simple: true })).replaceAll('\n', ' '),
      newer: schema && findNewer(database, schema),
      isOutdated: schema !== undefined && isOutdated(database, schema),
      isCopy: isMirrored(database),
      identity: has('identity') ? readIdentity(database) : undefined,
      newest: has('events')
        ? database
            .prepare<[], number>('SELECT received_at FROM events ORDER BY seq DESC LIMIT 1')
            .pluck()
            .get()
        : undefined,
      days: has('usage')
        ? database
            .prepare<[], ProbedDatabase['days'][number]>(
              `SELECT day, sum(events) AS events, sum(bytes) AS bytes FROM (
                 SELECT day, events, bytes FROM usage
                 ${has('server_usage') ? 'UNION ALL SELECT day, events, bytes FROM server_usage' : ''}
               ) GROUP BY day ORDER BY day`,
            )
            .all()
        : [],
    }
  } finally {
    database.close()
  }
}

function findNewer(database: Database, schema: Schema): string | undefined {
  try {
    refuseNewer(database, schema)
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

try {
  console.log(JSON.stringify(command === 'lock' ? probeLock() : probeDatabase()))
} catch (error) {
  const { code, message } = error as { code?: string; message: string }
  console.log(JSON.stringify({ failed: message, code }))
}
