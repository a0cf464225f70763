/**
 * An event or a call that was refused, for the log and the metrics. It has no payload, key, address or other text of
 * the sender: each field is from a list of the code, or the id of a customer.
 */
export type RefusedEvent = {
  /** Undefined if the sender is not known to belong to one. */
  readonly customer: string | undefined
  readonly status: number
  /** A word, such as `origin` or `no_consent`. */
  readonly reason: string
  /** Operation of the event, such as `addToCart`. Absent if it is not known. */
  readonly operation?: string
  /** Path of the first faulty field. Absent if there is none. */
  readonly path?: string
  /** Path of the call, such as `/t/r`. Absent if it is not known. */
  readonly call?: string
}
