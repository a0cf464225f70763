/** Something can not be read or written now. Whether a write was carried out is unknown. */
export class Unavailable extends Error {
  override readonly name = 'Unavailable'
  /** When to try again, seconds. */
  readonly retryAfterSeconds: number
  constructor(message: string, retryAfterSeconds = 1, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.retryAfterSeconds = retryAfterSeconds
  }
}
