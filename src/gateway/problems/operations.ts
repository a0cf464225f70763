import { EVENT_NAMES } from '../../contract/eventNames.ts'
import type { Coverage } from '../../contract/problems.ts'

/** The eleven operations that store an event, in the order of the contract. */
export const OPERATION_NAMES = [
  ...Object.keys(EVENT_NAMES),
  'sendCustomApi',
] as Coverage['operation'][]

export const OPERATIONS: ReadonlySet<string> = new Set(OPERATION_NAMES)
