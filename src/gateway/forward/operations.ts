import { EVENT_NAMES, type TrackingOperation } from '../../contract/index.ts'
import {
  isRecordOperation,
  RECORD_OPERATIONS,
  type RecordOperation,
} from '../../contract/recordOperations.ts'

/** An operation that the log has. */
export type LogOperation = TrackingOperation | 'sendCustomApi' | RecordOperation

/**
 * The operations of events. A destination gets all of them, if it names no operations. It gets records only if it names
 * their operations: they have names, addresses and telephone numbers, which nobody has agreed to send to a destination
 * that was added for events.
 */
export const EVENT_OPERATIONS = [...Object.keys(EVENT_NAMES), 'sendCustomApi'] as Exclude<
  LogOperation,
  RecordOperation
>[]

/** Every operation that the log has. */
export const LOG_OPERATIONS: readonly LogOperation[] = [...EVENT_OPERATIONS, ...RECORD_OPERATIONS]

/** Whether a destination with these operations gets those of the given one. */
export const isAmong = (operations: readonly LogOperation[], operation: string): boolean =>
  operations.length === 0
    ? !isRecordOperation(operation)
    : (operations as readonly string[]).includes(operation)

/** Words for `--operation`, each for several operations. */
const WORDS: Readonly<Record<string, readonly LogOperation[]>> = {
  all: LOG_OPERATIONS,
  events: EVENT_OPERATIONS,
}

/** What `--operation` may be. */
export const OPERATION_WORDS: readonly string[] = ['events', 'all', ...LOG_OPERATIONS]

/**
 * The operations that an operator has typed, with the words `events` and `all` replaced. Unknown names stay, for
 * checkDestination to report. Empty for `events` alone, so that operations of later versions belong to it.
 */
export function readOperations(words: readonly string[]): readonly LogOperation[] {
  return words.join() === 'events'
    ? []
    : [...new Set(words.flatMap((word) => WORDS[word] ?? [word as LogOperation]))]
}

/** The operations of a destination in words: `all events, saveOrder`. */
export function describeOperations(operations: readonly LogOperation[]): string {
  const hasEach = (names: readonly LogOperation[]) =>
    names.every((name) => operations.includes(name))
  if (operations.length === 0) return 'all events, no orders and subscribers'
  if (hasEach(LOG_OPERATIONS)) return 'all events, orders and subscribers'
  return hasEach(EVENT_OPERATIONS)
    ? ['all events', ...operations.filter(isRecordOperation)].join(', ')
    : operations.join(', ')
}
