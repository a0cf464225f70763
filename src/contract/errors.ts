/*
 * The five errors of the API. `instanceof` distinguishes them, and so does their literal `name`, which also works
 * between two copies of the package. No error contains a REST key: not in its message, its stack or its JSON.
 */

/** One fault of a payload. */
export type Issue = {
  /** Path of the field: `variation.sku`. Empty if the payload as a whole is wrong. */
  readonly path: string
  /** `Expected …, received …`. In the script only `Expected` and the short name of the rule. */
  readonly message: string
}

/** The payload is invalid or incomplete. Nothing was sent or stored. */
export class ValidationException extends Error {
  // Declared here and set in the constructor: class fields would add a helper of 200 bytes to the script.
  declare readonly name: 'ValidationException'
  /** Every fault, at least one. */
  declare readonly issues: readonly Issue[]
  constructor(issues: readonly Issue[]) {
    super(issues.map(({ path, message }) => (path ? `${path}: ${message}` : message)).join('; '))
    this.name = 'ValidationException'
    this.issues = issues
  }
}

/** The clean payload, or every issue. */
export type Checked<T> =
  | { readonly ok: true; readonly payload: T }
  | { readonly ok: false; readonly error: ValidationException }

/** The details of an ApiException. */
export type ApiFailure = {
  /** HTTP status, or 0 if there was no answer (network, timeout, abort). Default 0. */
  readonly status?: number
  /** The faults that the gateway listed in a 422. Default none. */
  readonly issues?: readonly Issue[]
  /** The body of the answer, parsed if it is JSON, else its text. Default undefined. */
  readonly body?: unknown
  /** Whether the gateway may have carried out the request although the call failed. Default false. */
  readonly mayHaveArrived?: boolean
  /** The error that caused this one. */
  readonly cause?: unknown
}

/** The call failed: the answer was an error, or there was none (`status` is 0). */
export class ApiException extends Error {
  override readonly name: string = 'ApiException'
  readonly status: number
  readonly issues: readonly Issue[]
  readonly body: unknown
  /**
   * True if the request was sent and its outcome is unknown (a timeout, a broken connection, a 5xx), or if it succeeded
   * but its answer can not be read. False if it was not sent, or was refused.
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

/** 401: the credential is missing, or does not belong to this customer. */
export class UnauthorizedException extends ApiException {
  override readonly name = 'UnauthorizedException'
}

/** 404: the customer, tracking key or campaign does not exist. */
export class CustomerNotFoundException extends ApiException {
  override readonly name = 'CustomerNotFoundException'
}

/** 405: this address does not support the method. */
export class MethodNotAllowedException extends ApiException {
  override readonly name = 'MethodNotAllowedException'
}
