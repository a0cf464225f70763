import { existsSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { StreamEvent } from './streams.ts'

/** How far a follower's local copies are from the streams. */
export type CopyFaults = {
  /** Events of the streams that a copy lacks. */
  readonly missing: number
  /** Rows of a copy that are not in the streams, or there more than once. */
  readonly extra: number
}

/** How long a copy may take to catch up, ms. */
const PATIENCE_MS = 180_000
const POLL_MS = 200

/**
 * Waits until the copies of a follower have read the streams, and compares them.
 *
 * @param dataDir Of the follower.
 * @param events The events of all streams, in order. Those with an id that came before must not be in a copy.
 */
export async function compareCopies(
  dataDir: string,
  events: readonly StreamEvent[],
  partitions: number,
): Promise<CopyFaults> {
  let missing = 0
  let extra = 0
  for (let partition = 0; partition < partitions; partition++) {
    const stream = events.filter((event) => event.partition === partition)
    const own = firstOnes(stream)
    const file = join(dataDir, `partition-${partition}`, 'events.db')
    await untilReached(file, [...own.keys()].at(-1) ?? 0)
    if (own.size === 0) continue
    const last = stream.at(-1)?.seq ?? 0
    const rows = readRows(file, last)
    for (const [seq, name] of rows) if (own.get(seq) !== name) extra++
    for (const [seq, name] of own) if (rows.get(seq) !== name) missing++
  }
  return { missing, extra }
}

/** Customer and id of the first event with each id, by its sequence. */
function firstOnes(events: readonly StreamEvent[]): Map<number, string> {
  const seen = new Set<string>()
  const first = new Map<number, string>()
  for (const { seq, customer, id } of events) {
    const name = nameOf(customer, id)
    if (seen.has(name)) continue
    seen.add(name)
    first.set(seq, name)
  }
  return first
}

const nameOf = (customer: string, id: string): string =>
  `${customer} ${id.toLowerCase().replaceAll('-', '')}`

/** What has not come after PATIENCE_MS is missing. */
async function untilReached(file: string, seq: number): Promise<void> {
  const until = performance.now() + PATIENCE_MS
  while (seq > 0 && readLast(file) < seq && performance.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}

function readLast(file: string): number {
  if (!existsSync(file)) return 0
  return query(file, 'SELECT coalesce(max(seq), 0) AS seq FROM events')[0]?.seq ?? 0
}

function readRows(file: string, upTo: number): Map<number, string> {
  const rows = query(
    file,
    `SELECT seq, customer, lower(hex(id)) AS id FROM events WHERE seq <= ${upTo}`,
  )
  return new Map(rows.map(({ seq, customer, id }) => [seq, nameOf(customer, id)]))
}

type CopyRow = { readonly seq: number; readonly customer: string; readonly id: string }

/** @returns Nothing if the file has no tables yet. */
function query(file: string, sql: string): CopyRow[] {
  const database = new Database(file, { readonly: true, timeout: 10_000 })
  try {
    return database.prepare<[], CopyRow>(sql).all()
  } catch (error) {
    if (/no such table/.test(`${error}`)) return []
    throw error
  } finally {
    database.close()
  }
}
