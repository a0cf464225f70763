/**
 * The five errors of the specification. Each is told apart by `instanceof` or, where two copies of the
 * package meet, by its literal `name`. None ever holds a key: not in its message, stack or JSON.
 */

/** One fault of a payload. */
export type Issue = {
  /** Where, dotted: `variation.sku`. Empty when the payload as a whole is wrong. */
  readonly path: string
  /** What was expected and what came; in the script only the short name of what was expected. */
  readonly message: string
}

/** An invalid or incomplete payload: nothing was sent, nothing was stored. */
export class ValidationException extends Error {
  // Declared here and set below: class fields cost the script a helper of 200 bytes.
  declare readonly name: 'ValidationException'
  /** Every fault found, at least one. */
  declare readonly issues: readonly Issue[]
  constructor(issues: readonly Issue[]) {
    super(issues.map(({ path, message }) => (path ? `${path}: ${message}` : message)).join('; '))
    this.name = 'ValidationException'
    this.issues = issues
  }
}

/** What a failed answer said. */
export type ApiFailure = {
  /** HTTP status; 0 when no answer came (network, timeout, abort). Default 0. */
  readonly status?: number
  /** The faults the gateway named in a 422. Default none. */
  readonly issues?: readonly Issue[]
  /** The decoded body of the answer, or its text where it was not JSON. Default undefined. */
  readonly body?: unknown
  /** Whether the request may have been carried out though it failed. Default false. */
  readonly mayHaveArrived?: boolean
  /** What went wrong underneath. */
  readonly cause?: unknown
}

/** A failed answer, the general case; and no answer at all, with `status: 0`. */
export class ApiException extends Error {
  override readonly name: string = 'ApiException'
  readonly status: number
  readonly issues: readonly Issue[]
  readonly body: unknown
  /**
   * True: it was sent, and what became of it is not known (a timeout, a broken connection, a 5xx), or it
   * succeeded with an answer that can not be read. False: it was not sent, or the answer refused it.
   */
  readonly mayHaveArrived: boolean
  constructor(
    message: string,
    { status = 0, issues = [], body, mayHaveArrived = false, cause }: ApiFailure = {},
  ) {
    super(message, cause === undefined ? undefined : { cause })
    this.status = status
    this.issues = issues
    this.body = body
    this.mayHaveArrived = mayHaveArrived
  }
}

/** 401: a credential is missing, or wrong for a known customer. */
export class UnauthorizedException extends ApiException {
  override readonly name = 'UnauthorizedException'
}

/** 404: the customer, tracking key or campaign is unknown. */
export class CustomerNotFoundException extends ApiException {
  override readonly name = 'CustomerNotFoundException'
}

/** 405: the address does not take this method. */
export class MethodNotAllowedException extends ApiException {
  override readonly name = 'MethodNotAllowedException'
}
