/** How much a customer has stored on a day. Each id counts once. */
export type Usage = {
  readonly customer: string
  /** Days since 1970, UTC. */
  readonly day: number
  readonly events: number
  /** Of the payloads and the campaigns, UTF-8. */
  readonly bytes: number
}

const DAY_MS = 86_400_000

/** @param at ms since 1970. */
export const dayOf = (at: number): number => Math.floor(at / DAY_MS)

/** @param at ms since 1970. */
export const secondsLeftOfDay = (at: number): number =>
  Math.ceil(((dayOf(at) + 1) * DAY_MS - at) / 1_000)
