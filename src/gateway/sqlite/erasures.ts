import type { Database } from 'better-sqlite3'
import type { Proof } from '../people/people.ts'

/** The proofs of erasures. They have no column from which a person follows. */
export const ERASURE_TABLE = `
  CREATE TABLE IF NOT EXISTS erasures (
    proof INTEGER PRIMARY KEY AUTOINCREMENT,
    customer TEXT NOT NULL,
    begun INTEGER NOT NULL,
    ended INTEGER,
    events INTEGER NOT NULL DEFAULT 0,
    devices INTEGER NOT NULL DEFAULT 0,
    counted INTEGER NOT NULL DEFAULT 0
  ) STRICT;
`

/** The proofs in events.db. */
export type Erasures = {
  /** @returns The number of the new proof. */
  begin(customer: string, begun: number, devices: number): number
  /**
   * Adds what was removed. Call it in the transaction that removes the events.
   *
   * @param counted How many of the events reports had.
   */
  count(proof: number, events: number, counted: number): void
  /** @returns The complete proof. */
  end(proof: number, ended: number): Proof
  /** The newest ones of a customer, newest first. */
  newest(customer: string, max: number): Proof[]
}

const COLUMNS = 'proof, customer, begun, ended, events, devices, counted'

export function createErasures(database: Database): Erasures {
  const begin = database
    .prepare<[string, number, number], number>(
      'INSERT INTO erasures (customer, begun, devices) VALUES (?, ?, ?) RETURNING proof',
    )
    .pluck()
  const count = database.prepare<[number, number, number]>(
    'UPDATE erasures SET events = events + ?, counted = counted + ? WHERE proof = ?',
  )
  const end = database.prepare<[number, number], Proof>(
    `UPDATE erasures SET ended = ? WHERE proof = ? RETURNING ${COLUMNS}`,
  )
  const newest = database.prepare<[string, number], Proof>(
    `SELECT ${COLUMNS} FROM erasures WHERE customer = ? ORDER BY proof DESC LIMIT ?`,
  )
  return {
    begin: (customer, begun, devices) => begin.get(customer, begun, devices) as number,
    count: (proof, events, counted) => void count.run(events, counted, proof),
    end: (proof, ended) => end.get(ended, proof) as Proof,
    newest: (customer, max) => newest.all(customer, max),
  }
}
