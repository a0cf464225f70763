import type { Operation } from './payloads.ts'

/** The operations of a shop's server that are kept as records of an order or a subscriber. They have no device. */
export const RECORD_OPERATIONS = [
  'saveOrder',
  'updateOrderStatus',
  'addSubscriber',
  'removeSubscriber',
] as const satisfies readonly Operation[]

export type RecordOperation = (typeof RECORD_OPERATIONS)[number]

export const isRecordOperation = (operation: string): operation is RecordOperation =>
  (RECORD_OPERATIONS as readonly string[]).includes(operation)
