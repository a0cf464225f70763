import type { Database } from 'better-sqlite3'
import type { Destination } from '../forward/destination.ts'
import {
  type DestinationState,
  MAX_DESTINATIONS,
  MAX_DESTINATIONS_OF_ONE,
} from '../forward/forwarding.ts'
import { clearWal, closeDatabase, openDatabase } from './database.ts'
import { createLetterRows, LETTER_TABLES, type LetterRows, type Refused } from './letterRows.ts'
import type { Schema } from './schema.ts'

/**
 * `progress`: everything of the log up to `seq` is settled; `event` and `received_at` are those of the event there, from
 * which a log that was replaced is recognized. `leases`: which gateway forwards.
 */
const TABLES = `
  CREATE TABLE IF NOT EXISTS destinations (
    id TEXT PRIMARY KEY,
    customer TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    paused INTEGER NOT NULL,
    operations TEXT NOT NULL,
    leave_out TEXT NOT NULL,
    takes_cookieless INTEGER NOT NULL,
    takes_bots INTEGER NOT NULL,
    settings TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    revision INTEGER NOT NULL DEFAULT 1
  ) STRICT;
  CREATE TABLE IF NOT EXISTS progress (
    destination TEXT PRIMARY KEY,
    seq INTEGER NOT NULL,
    event TEXT,
    received_at INTEGER,
    delivered INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0,
    lost INTEGER NOT NULL DEFAULT 0,
    state TEXT NOT NULL DEFAULT 'running',
    since INTEGER,
    reason TEXT,
    next_at INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS leases (
    destination TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    until INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
${LETTER_TABLES}`

/** The schema of forward.db. */
export const FORWARD_SCHEMA: Schema = {
  tables: TABLES,
  probe: 'SELECT id, customer, kind, name, settings FROM destinations',
}

/** How long a gateway keeps a destination that it does not renew, ms. So long the next one waits after a kill. */
export const LEASE_MS = 6_000

/** A position in the log, and the event there. Null at the beginning, or if the event was removed. */
export type Position = {
  readonly seq: number
  readonly event: string | null
  readonly receivedAt: number | null
}

/** A destination as it is stored. */
export type StoredDestination = Destination & {
  readonly createdAt: number
  /** Another number after each change. */
  readonly revision: number
}

/** How far a destination is. */
export type Progress = Position & {
  readonly delivered: number
  readonly failed: number
  readonly lost: number
  readonly state: DestinationState
}

/** What has become of events of a destination since the last step. */
export type Step = {
  /** The new position. Default: unchanged. */
  readonly position?: Position | undefined
  /** How many were delivered, have failed, were removed before they were sent. */
  readonly delivered: number
  readonly failed: number
  readonly lost: number
  /** Refused events, also those that were sent again. */
  readonly refused: readonly Refused[]
  /** Positions of letters that were sent again and delivered, or whose event is gone. */
  readonly settledLetters: readonly number[]
}

/** The destinations, their positions and letters, in forward.db. Synchronous; every write is durable when it returns. */
export type ForwardStore = {
  /** A number that changes when another connection, of this process or another, has written. */
  version(): number
  /** In the order in which they were added. */
  destinations(): StoredDestination[]
  find(id: string): StoredDestination | undefined
  /** @returns Why it can not be added: there are too many. Otherwise undefined. */
  add(destination: Destination, position: Position, now: number): string | undefined
  change(destination: Destination): void
  remove(id: string): boolean
  progress(id: string): Progress | undefined
  setState(id: string, state: DestinationState): void
  /**
   * Takes or renews the leases of these destinations, as far as no other gateway has them.
   *
   * @returns Those that this owner has.
   */
  lease(owner: string, ids: readonly string[], now: number): ReadonlySet<string>
  /** Gives all leases of an owner back. */
  release(owner: string): void
  /** One transaction. False if another owner has the lease, or the destination is gone; then nothing is written. */
  settle(id: string, owner: string, step: Step): boolean
  readonly letters: LetterRows
  /**
   * Overwrites everything that was deleted: rows that SQLite has moved leave copies that `secure_delete` does not
   * find.
   *
   * @returns False if another connection is reading or writing. Then call it again.
   */
  overwrite(): boolean
  close(): void
}

type DestinationRow = {
  readonly id: string
  readonly customer: string
  readonly kind: Destination['kind']
  readonly name: string
  readonly paused: number
  readonly operations: string
  readonly leave_out: string
  readonly takes_cookieless: number
  readonly takes_bots: number
  readonly settings: string
  readonly created_at: number
  readonly revision: number
}

type ProgressRow = Omit<Progress, 'state'> & {
  readonly state: DestinationState['name']
  readonly since: number | null
  readonly reason: string | null
  readonly nextAt: number | null
}

/** @param file Path of forward.db. Created if it is missing; its folder is not. */
export function openForwardStore(file: string): ForwardStore {
  const database = openDatabase(file, FORWARD_SCHEMA)
  const all = database.prepare<[], DestinationRow>(
    'SELECT * FROM destinations ORDER BY created_at, rowid',
  )
  const one = database.prepare<[string], DestinationRow>('SELECT * FROM destinations WHERE id = ?')
  const count = database.prepare<[string], { all: number; own: number }>(
    'SELECT count(*) AS "all", count(*) FILTER (WHERE customer = ?) AS own FROM destinations',
  )
  const insert = database.prepare(
    `INSERT INTO destinations (id, customer, kind, name, paused, operations, leave_out, takes_cookieless, takes_bots, settings, created_at)
     VALUES (@id, @customer, @kind, @name, @paused, @operations, @leave_out, @takes_cookieless, @takes_bots, @settings, @created_at)`,
  )
  const insertProgress = database.prepare<[string, number, string | null, number | null]>(
    'INSERT INTO progress (destination, seq, event, received_at) VALUES (?, ?, ?, ?)',
  )
  const update = database.prepare(
    `UPDATE destinations SET name = @name, paused = @paused, operations = @operations, leave_out = @leave_out,
       takes_cookieless = @takes_cookieless, takes_bots = @takes_bots, settings = @settings, revision = revision + 1
     WHERE id = @id`,
  )
  const removeFrom = ['letters', 'leases', 'progress'].map((table) =>
    database.prepare<[string]>(`DELETE FROM ${table} WHERE destination = ?`),
  )
  const removeOne = database.prepare<[string]>('DELETE FROM destinations WHERE id = ?')
  const progressOf = database.prepare<[string], ProgressRow>(
    `SELECT seq, event, received_at AS receivedAt, delivered, failed, lost, state, since, reason, next_at AS nextAt
     FROM progress WHERE destination = ?`,
  )
  const setState = database.prepare(
    `UPDATE progress SET state = @name, since = @since, reason = @reason, next_at = @nextAt WHERE destination = @id`,
  )
  const takeLease = database.prepare(
    `INSERT INTO leases (destination, owner, until) SELECT id, @owner, @until FROM destinations WHERE id = @id
     ON CONFLICT (destination) DO UPDATE SET owner = excluded.owner, until = excluded.until
     WHERE owner = @owner OR until <= @now OR until > @until`,
  )
  const leaseOf = database.prepare<[string], { owner: string; until: number }>(
    'SELECT owner, until FROM leases WHERE destination = ?',
  )
  const ownerOf = database
    .prepare<[string], string>('SELECT owner FROM leases WHERE destination = ?')
    .pluck()
  const releaseAll = database.prepare<[string]>('DELETE FROM leases WHERE owner = ?')
  const addCounts = database.prepare(
    `UPDATE progress SET delivered = delivered + @delivered, failed = failed + @failed, lost = lost + @lost
     WHERE destination = @id`,
  )
  const setPosition = database.prepare(
    'UPDATE progress SET seq = @seq, event = @event, received_at = @receivedAt WHERE destination = @id',
  )
  const dataVersion = database.prepare<[], number>('PRAGMA data_version').pluck()
  const letters = createLetterRows(database)

  const add = database.transaction(
    (destination: Destination, { seq, event, receivedAt }: Position, now: number) => {
      const counts = count.get(destination.customer) as { all: number; own: number }
      if (counts.all >= MAX_DESTINATIONS)
        return `There are ${MAX_DESTINATIONS} destinations already`
      if (counts.own >= MAX_DESTINATIONS_OF_ONE)
        return `The customer ${destination.customer} has ${MAX_DESTINATIONS_OF_ONE} destinations already`
      insert.run({ ...toRow(destination), created_at: now })
      insertProgress.run(destination.id, seq, event, receivedAt)
      return undefined
    },
  )
  const remove = database.transaction((id: string): boolean => {
    for (const statement of removeFrom) statement.run(id)
    return removeOne.run(id).changes > 0
  })
  const lease = database.transaction(
    (owner: string, ids: readonly string[], now: number): ReadonlySet<string> =>
      new Set(
        ids.filter((id) => takeLease.run({ id, owner, now, until: now + LEASE_MS }).changes > 0),
      ),
  )
  const settle = database.transaction((id: string, owner: string, step: Step): boolean => {
    if (ownerOf.get(id) !== owner) return false
    const { position, refused, settledLetters, delivered, failed, lost } = step
    addCounts.run({ id, delivered, failed, lost })
    if (position) setPosition.run({ id, ...position })
    for (const letter of refused) letters.put(id, letter)
    for (const seq of settledLetters) letters.remove(id, seq)
    return true
  })

  return {
    version: () => dataVersion.get() as number,
    destinations: () => all.all().map(toDestination),
    find(id) {
      const row = one.get(id)
      return row && toDestination(row)
    },
    add: (destination, position, now) => add.immediate(destination, position, now),
    change: (destination) => void update.run(toRow(destination)),
    remove: (id) => remove.immediate(id),
    progress(id) {
      const row = progressOf.get(id)
      if (!row) return undefined
      const { state: name, since, reason, nextAt, ...progress } = row
      return { ...progress, state: { name, since, reason, nextAt } }
    },
    setState: (id, state) => void setState.run({ id, ...state }),
    lease(owner, ids, now) {
      // Those of others are only read: a write would wait for the lock, and make the others look again.
      const free = ids.filter((id) => {
        const held = leaseOf.get(id)
        return !held || held.owner === owner || held.until <= now || held.until > now + LEASE_MS
      })
      return free.length > 0 ? lease.immediate(owner, free, now) : new Set()
    },
    release: (owner) => void releaseAll.run(owner),
    settle: (id, owner, step) => settle.immediate(id, owner, step),
    letters,
    overwrite: () => overwrite(database),
    close: () => closeDatabase(database),
  }
}

function overwrite(database: Database): boolean {
  try {
    database.exec('VACUUM')
  } catch (error) {
    if (/^SQLITE_(BUSY|LOCKED)/.test((error as { code?: string }).code ?? '')) return false
    throw error
  }
  return clearWal(database)
}

const toRow = (destination: Destination) => ({
  id: destination.id,
  customer: destination.customer,
  kind: destination.kind,
  name: destination.name,
  paused: Number(destination.isPaused),
  operations: JSON.stringify(destination.operations),
  leave_out: JSON.stringify(destination.leaveOut),
  takes_cookieless: Number(destination.takesCookieless),
  takes_bots: Number(destination.takesBots),
  settings: JSON.stringify(destination.settings),
})

const toDestination = (row: DestinationRow): StoredDestination => ({
  id: row.id,
  customer: row.customer,
  kind: row.kind,
  name: row.name,
  isPaused: row.paused === 1,
  operations: JSON.parse(row.operations),
  leaveOut: JSON.parse(row.leave_out),
  takesCookieless: row.takes_cookieless === 1,
  takesBots: row.takes_bots === 1,
  settings: JSON.parse(row.settings),
  createdAt: row.created_at,
  revision: row.revision,
})
