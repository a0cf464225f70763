/** A record of the log from which the state of an order or a subscriber follows. */
export type StateRecord = {
  readonly customer: string
  readonly operation: string
  /** ms since 1970. */
  readonly receivedAt: number
  /** UTF-8. */
  readonly payload: Uint8Array
  /** The fields of the payload. None if it is not an object. */
  fields(): Readonly<Record<string, unknown>>
}

/** A table of states. A record of another operation changes nothing. */
export type States = {
  /** Call it with every record in the order of positions, in the transaction that stores it. */
  add(record: StateRecord, seq: number): void
  /** Removes the state if it is that of this record. Call it in the transaction that removes the record. */
  remove(record: StateRecord, seq: number): void
}
