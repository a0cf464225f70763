import { randomBytes } from 'node:crypto'
import { hashSecret } from '../lib/secret.ts'

/** Customers that somebody who has signed in may see. */
export type Session = {
  /** Their ids, each with the hash of the key it was opened with: a new key ends it. */
  readonly keys: ReadonlyMap<string, Buffer>
}

/** Who is signed in to the operator's pages, in memory: a restart signs everybody out. */
export type Sessions = {
  /**
   * Adds a customer to the session of a token, or opens one. Whoever has kept the session sees the change.
   *
   * @param token What names a session so far; '' for none. It names none any more.
   * @returns The token that names it now, 256 random bits.
   */
  signIn(token: string, customerId: string, keyHash: Buffer): string
  /** The session of a token, while it lasts. */
  find(token: string): Session | undefined
  /** Whether a session that was found earlier has not ended since. */
  lasts(session: Session): boolean
  signOut(token: string): void
}

/** How long a session lasts, s: a working day. */
export const SESSION_SECONDS = 12 * 3600
const MAX_SESSIONS = 10_000
/**
 * Sessions of one customer; above it the oldest loses that customer. The people of a shop need fewer, and a
 * stranger with the key of one customer can not end the sessions of others.
 */
const MAX_SESSIONS_OF_CUSTOMER = 100

type Held = { readonly keys: Map<string, Buffer>; name: string; until: number }

/** @param now A monotonic clock, ms: a session neither ends nor lives on when the clock of the machine is set. */
export function createSessions(now: () => number): Sessions {
  // By the token's hash, so that how long a look-up takes tells nothing about a token. Oldest first, and all
  // last equally long: those that have ended stand in front.
  const open = new Map<string, Held>()
  /** Those that may see a customer, oldest first. */
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
      // Set again, so that it stands behind those that are older.
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
