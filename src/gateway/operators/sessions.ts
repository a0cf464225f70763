/** A session of an operator: the customers that a browser may see. */
export type Session = {
  /** It stays the same when a further sign-in changes the token. */
  readonly id: number
  /** The customers, each with the hash of the REST key of the sign-in. A new key ends the access. */
  readonly keys: ReadonlyMap<string, Buffer>
}

/**
 * The sessions of operators. They outlive a restart, and several gateways over one folder share them. Only hashes of
 * tokens are stored, so a copy of the database does not let anyone in.
 */
export type Sessions = {
  /**
   * Adds a customer to the session of a token, or opens a session. It lasts SESSION_SECONDS from now on.
   *
   * @param token The old token, or '' for none. It becomes invalid.
   * @param keyHash SHA-256 of the REST key.
   * @returns The new token, 256 random bits.
   */
  signIn(token: string, customerId: string, keyHash: Buffer): string
  /** The session of a token, if it has not ended. */
  find(token: string): Session | undefined
  /** The hash of the key with which a session got a customer. Undefined if the session has ended. */
  findKey(session: Session, customerId: string): Buffer | undefined
  signOut(token: string): void
}

/** How long a session lasts, s: a working day. */
export const SESSION_SECONDS = 12 * 3600
/** Above it the oldest session ends. */
export const MAX_SESSIONS = 10_000
/**
 * Sessions of one customer. Above it the oldest session loses that customer. A shop needs fewer, and many sign-ins with
 * the key of one customer do not end the sessions of others.
 */
export const MAX_SESSIONS_OF_CUSTOMER = 100
