import type { LogOperation } from './operations.ts'

/** The kinds of destinations. */
export type KindName = 'service' | 'webhook' | 'ga4' | 'file'

/** Where the events of a customer are sent on to. */
export type Destination = {
  /** Random, in lower case letters and digits. */
  readonly id: string
  readonly customer: string
  readonly kind: KindName
  /** For operators. May be empty. */
  readonly name: string
  /** A paused destination gets nothing, and keeps its position. */
  readonly isPaused: boolean
  /** Only what these operations have stored is sent. Empty: all events, and no orders and subscribers. */
  readonly operations: readonly LogOperation[]
  /** Fields of the payload that are never sent to it, such as `remote_addr` or `email_address`. `did`: no device id. */
  readonly leaveOut: readonly string[]
  /** Whether it also gets events without the visitor's consent, whose `did` is a hash of the day. */
  readonly takesCookieless: boolean
  /** Whether it also gets events of bots. */
  readonly takesBots: boolean
  /** Checked by the schema of its kind. May contain secrets, so it is never shown or logged as a whole. */
  readonly settings: Readonly<Record<string, unknown>>
}
