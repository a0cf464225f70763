import { RECORD_OPERATIONS } from '../../contract/recordOperations.ts'

/** How much a customer has stored on a day: its pages, or its servers. Each id counts once. */
export type Usage = {
  readonly customer: string
  /** Days since 1970, UTC. */
  readonly day: number
  /** Whether it is what only servers can send: campaigns, and the operations of `isOfServers`. */
  readonly isServer: boolean
  readonly events: number
  /** Of the payloads and the campaigns, UTF-8. */
  readonly bytes: number
}

const ofServers: ReadonlySet<unknown> = new Set([...RECORD_OPERATIONS, 'sendCustomApi'])

/**
 * Whether an operation needs the REST key, so that no page can have sent its events. A tracking event counts for the
 * pages, also if a server has sent it: the log does not keep the sender.
 */
export const isOfServers = (operation: unknown): boolean => ofServers.has(operation)

const DAY_MS = 86_400_000

/** @param at ms since 1970. */
export const dayOf = (at: number): number => Math.floor(at / DAY_MS)

/** @param at ms since 1970. */
export const secondsLeftOfDay = (at: number): number =>
  Math.ceil(((dayOf(at) + 1) * DAY_MS - at) / 1_000)
