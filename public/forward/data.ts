/** The requests of the forwarding page. What is asked for is in a body, since reasons may contain personal data. */
import { type Answered, ask } from '../operator/requests.ts'

export type KindName = 'service' | 'webhook' | 'ga4' | 'file'

/** A destination, as the gateway reports it. */
export type Destination = {
  readonly id: string
  readonly kind: KindName
  readonly name: string
  /** What receives the events, such as a host. Empty if its settings are not valid any more. */
  readonly receives: string
  /** The operations that it gets, in words. Empty if it gets all events and nothing else. */
  readonly limits: string
  readonly leaveOut: readonly string[]
  readonly takesCookieless: boolean
  readonly takesBots: boolean
  readonly state: {
    readonly name: 'running' | 'waiting' | 'paused' | 'stopped'
    /** ms since 1970. */
    readonly since: number | null
    readonly reason: string | null
    readonly nextAt: number | null
  }
  readonly lagEvents: number
  readonly lagMs: number
  readonly delivered: number
  readonly failed: number
  readonly lost: number
  readonly letters: number
}

export type Payload = Readonly<Record<string, unknown>>

/** An event that a destination has finally refused. */
export type Letter = {
  readonly seq: number
  readonly eventId: string
  readonly operation: string
  readonly reason: string
  /** ms since 1970. */
  readonly firstAt: number
  readonly lastAt: number
  readonly attempts: number
  readonly patch: Payload | null
  readonly isReplayed: boolean
  readonly payload: Payload
}

export type LetterPage = {
  readonly letters: readonly Letter[]
  readonly next?: number
  /** Of the filter. */
  readonly count: number
  /** Of the destination, the most frequent first. */
  readonly groups: readonly {
    readonly operation: string
    readonly reason: string
    readonly count: number
  }[]
}

/** A letter before and after a patch, or why it would be invalid. */
export type Preview = {
  readonly seq: number
  readonly operation: string
  readonly before: Payload
  readonly after?: Payload
  readonly fault?: string
}

export type Filter = {
  readonly operation?: string | undefined
  readonly reason?: string | undefined
}
/** Letters by their positions, or all of a filter. */
export type Which = { readonly seqs: readonly number[] } | Filter

/** The gateway answers within 15 seconds, or with an error. */
const TIMEOUT_MS = 30_000

const post = <T>(path: string, customer: string, body: object): Promise<Answered<T>> =>
  ask<T>(
    `../forward/data/${path}`,
    { customer },
    {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    },
  )

export const loadDestinations = (customer: string) =>
  ask<{ readonly data: readonly Destination[] }>(
    '../forward/data/list',
    { customer },
    { signal: AbortSignal.timeout(TIMEOUT_MS) },
  )

export const setPaused = (customer: string, destination: string, isPaused: boolean) =>
  post<object>('pause', customer, { destination, isPaused })

export const loadLetters = (
  customer: string,
  destination: string,
  filter: Filter,
  after: number | undefined,
) => post<LetterPage>('letters', customer, { destination, ...filter, after })

export const previewPatch = (
  customer: string,
  destination: string,
  which: Which,
  patch: Payload | null,
) =>
  post<{ readonly data: readonly Preview[] }>('preview', customer, { destination, ...which, patch })

type Counted = { readonly count: number }

export const mendLetters = (
  customer: string,
  destination: string,
  which: Which,
  patch: Payload | null,
) => post<Counted>('mend', customer, { destination, ...which, patch })

export const replayLetters = (customer: string, destination: string, which: Which) =>
  post<Counted>('replay', customer, { destination, ...which })

export const discardLetters = (customer: string, destination: string, which: Which) =>
  post<Counted>('discard', customer, { destination, ...which, discard: true })
