/** What keeps the data can not be reached at the moment. It is tried again, without an operator. */
export class EngineAway extends Error {
  override readonly name = 'EngineAway'
  /** The reason without addresses and names, since strangers can read it. */
  readonly reason: string
  constructor(message: string, reason: string, cause?: unknown) {
    super(message, { cause })
    this.reason = reason
  }
}
