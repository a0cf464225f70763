import { randomBytes } from 'node:crypto'
import { hashSecret } from '../lib/secret.ts'

/** The customers that a signed-in operator may see. */
export type Session = {
  /** Their ids, each with the hash of the REST key of the sign-in. A new key ends the access. */
  readonly keys: ReadonlyMap<string, Buffer>
}

/** The sessions of operators. They are in memory only, so a restart ends them. */
export type Sessions = {
  /**
   * Adds a customer to the session of a token, or opens a session. Session objects of earlier calls see the change.
   *
   * @param token The old token, or '' for none. It becomes invalid.
   * @returns The new token, 256 random bits.
   */
  signIn(token: string, customerId: string, keyHash: Buffer): string
  /** The session of a token, if it has not ended. */
  find(token: string): Session | undefined
  /** Whether a session of an earlier `find` has not ended. */
  lasts(session: Session): boolean
  signOut(token: string): void
}

/** How long a session lasts, s: a working day. */
export const SESSION_SECONDS = 12 * 3600
const MAX_SESSIONS = 10_000
/**
 * Sessions of one customer. Above it the oldest session loses that customer. A shop needs fewer, and many sign-ins with
 * the key of one customer do not end the sessions of others.
 */
const MAX_SESSIONS_OF_CUSTOMER = 100

type Held = { readonly keys: Map<string, Buffer>; name: string; until: number }

/** @param now A monotonic clock, ms, so that setting the machine's clock does not change when a session ends. */
export function createSessions(now: () => number): Sessions {
  // By the token's hash, so that the time of a look-up does not depend on the token. Oldest first. All last equally
  // long, so those that have ended come first.
  const open = new Map<string, Held>()
  /** The sessions that may see a customer, oldest first. */
  const byCustomer = new Map<string, Set<Held>>()
  const nameOf = (token: string) => hashSecret(token).toString('base64')

  const lasts = (session: Session) => (session as Held).until > now()

  function find(token: string): Held | undefined {
    const held = open.get(nameOf(token))
    return held && lasts(held) ? held : undefined
  }

  function end(held: Held): void {
    for (const customerId of held.keys.keys()) leave(held, customerId)
  }

  function leave(held: Held, customerId: string): void {
    held.keys.delete(customerId)
    if (held.keys.size === 0) open.delete(held.name)
    const others = byCustomer.get(customerId)
    others?.delete(held)
    if (others?.size === 0) byCustomer.delete(customerId)
  }

  return {
    signIn(token, customerId, keyHash) {
      const held = find(token) ?? { keys: new Map(), name: '', until: 0 }
      open.delete(held.name)
      for (const oldest of open.values()) {
        if (lasts(oldest) && open.size < MAX_SESSIONS) break
        end(oldest)
      }
      held.keys.set(customerId, keyHash)
      const all = byCustomer.get(customerId) ?? new Set()
      byCustomer.set(customerId, all)
      // Added again, so that it is the newest.
      all.delete(held)
      all.add(held)
      const [oldest] = all
      if (oldest && all.size > MAX_SESSIONS_OF_CUSTOMER) leave(oldest, customerId)
      const next = randomBytes(32).toString('base64url')
      held.name = nameOf(next)
      held.until = now() + SESSION_SECONDS * 1000
      open.set(held.name, held)
      return next
    },
    find,
    lasts,
    signOut(token) {
      const held = find(token)
      if (held) end(held)
    },
  }
}
