import { randomBytes } from 'node:crypto'
import { hashSecret } from './keys.ts'

/** Who is signed in to the operator's pages, in memory: a restart signs everybody out. */
export type Sessions<T> = {
  /** Opens a session; answers the token that names it, 256 random bits. */
  open(value: T): string
  find(token: string): T | undefined
  close(token: string): void
}

/** How long a session lasts, s: a working day. */
export const SESSION_SECONDS = 12 * 3600
const MAX_SESSIONS = 10_000

/** @param now The clock, ms since 1970. */
export function createSessions<T>(now: () => number): Sessions<T> {
  // By the token's hash, so that how long a look-up takes tells nothing about a token.
  const open = new Map<string, { readonly value: T; readonly until: number }>()
  const nameOf = (token: string) => hashSecret(token).toString('base64')

  return {
    open(value) {
      // Oldest first, and all last equally long: what has ended stands in front.
      for (const [name, { until }] of open) {
        if (until > now() && open.size < MAX_SESSIONS) break
        open.delete(name)
      }
      const token = randomBytes(32).toString('base64url')
      open.set(nameOf(token), { value, until: now() + SESSION_SECONDS * 1000 })
      return token
    },
    find(token) {
      const session = open.get(nameOf(token))
      return session && session.until > now() ? session.value : undefined
    },
    close: (token) => void open.delete(nameOf(token)),
  }
}
