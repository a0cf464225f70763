import type { LogEvent } from '../collect/eventLog.ts'

/** One value of a row. */
export type Cell = string | number | null

/** Values of an event, in the order of the columns that are inserted. */
export const CELLS_PER_EVENT = 9

/**
 * Events as one flat list, which is how they go to the other thread: without the names of nine fields an
 * event, the copy costs less than half (1.2 against 2.6 microseconds for both ends).
 */
export function toCells(events: readonly LogEvent[]): Cell[] {
  const cells: Cell[] = []
  for (const e of events)
    cells.push(
      e.customer,
      e.id,
      e.receivedAt,
      e.at,
      e.operation,
      e.event,
      e.did,
      e.bot ? 1 : 0,
      e.payload,
    )
  return cells
}
