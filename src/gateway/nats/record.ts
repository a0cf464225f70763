import type { LogRecord } from '../collect/eventLog.ts'
import { decodeEvent } from './eventMessage.ts'

/** The record of a message. Undefined if its data is not that of an event, which only a foreign publisher sends. */
export function toRecord(customer: string, seq: number, data: Uint8Array): LogRecord | undefined {
  try {
    const { cookieless: _, ...event } = decodeEvent(customer, data)
    return { ...event, seq }
  } catch {
    return undefined
  }
}
