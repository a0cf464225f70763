import type { ExportRecord } from './record.ts'

/** A record with its place in the log. */
export type Placed = { readonly position: number; readonly record: ExportRecord }

/** Some records of a customer. */
export type Step = {
  /** In the order of arrival. Without events that were removed. */
  readonly records: readonly Placed[]
  /** Everything up to this position was read. */
  readonly upTo: number
}

/** Most records of a step, and bytes (as `weigh` counts them) after which it ends. */
export const STEP_RECORDS = 1_000
export const STEP_BYTES = 2 ** 20

/** Reads the events of one customer from a log. Changes nothing. */
export type Source = {
  /** Whether an id may come more than once. */
  readonly mayRepeat: boolean
  /** Whether there is such a customer, or has been one with events. */
  isKnown(): Promise<boolean>
  /** Ids of events that were removed, and may come again all the same. */
  removed(): AsyncIterable<string>
  /** The position of the newest event. */
  end(): Promise<number>
  /** A position before the first event that arrived at or after a time, ms since 1970. It need not be the last one. */
  before(time: number): Promise<number>
  /** What shows, of an event's position, that a log is still the same one. */
  mark(position: number): Promise<string>
  /** Whether the position of the mark is still one of this log. */
  isOf(mark: string): Promise<boolean>
  /** The records after one position, up to another one, in steps. */
  read(after: number, upTo: number): AsyncIterable<Step>
  close(): Promise<void>
}
