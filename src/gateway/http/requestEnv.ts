import type { Reserve } from './bodyBudget.ts'
import type { ReadBody } from './readBody.ts'

/** What the server passes to a handler in addition to the Request. */
export type RequestEnv = {
  /** Address of the other end of the connection. */
  readonly peer: string
  readonly readBody: ReadBody
  readonly reserve: Reserve
  /** Ends the connection in the middle of an answer, so that nobody takes it for the whole. */
  readonly breakOff: () => void
}

/** The part of a route's context that its handler uses. */
export type Connected<Part extends keyof RequestEnv> = {
  readonly env: Pick<RequestEnv, Part>
}
