import { isRecordOperation } from '../../contract/recordOperations.ts'
import type { LogRecord } from '../collect/eventLog.ts'

/** The parts of a record that the key depends on. */
type Keyed = Pick<LogRecord, 'did' | 'operation' | 'payload' | 'seq'>

/**
 * What an event must stay in order with: events with the same key are sent one after the other. It is the device of an
 * event, the number of an order, and the address of a subscriber. An event without any of these has a key of its own.
 */
export const orderingKeyOf = ({ did, operation, payload, seq }: Keyed): string =>
  did ?? (isRecordOperation(operation) ? subjectOf(payload) : undefined) ?? `event ${seq}`

/** Undefined if it can not be read. Then its payload can not be sent either. */
function subjectOf(payload: string): string | undefined {
  try {
    const { number, order_number = number, email } = JSON.parse(payload) as Fields
    if (typeof order_number === 'string') return `order ${order_number}`
    return typeof email === 'string' ? `subscriber ${email.toLowerCase()}` : undefined
  } catch {
    return undefined
  }
}

type Fields = { readonly [field in 'number' | 'order_number' | 'email']?: unknown }
