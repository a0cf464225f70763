import type { GenericSchema } from 'valibot'
import type { LogRecord } from '../collect/eventLog.ts'
import type { KindName } from './destination.ts'

/** An event as a destination gets it. The fields that the destination leaves out are not in its payload. */
export type ForwardEvent = Omit<LogRecord, 'payload'> & {
  readonly payload: Readonly<Record<string, unknown>>
  /** Of updateOrderStatus: the payload of the order as it was saved last, likewise. Absent if it is not in the log. */
  readonly order?: Readonly<Record<string, unknown>> | undefined
}

/** What has become of one event. */
export type Delivery =
  | { readonly status: 'delivered' }
  /** Final: the destination will never take it. It becomes a dead letter. */
  | { readonly status: 'refused'; readonly reason: string }
  /**
   * The destination can not take it now, or its answer is unknown. It is sent again, with the same id, and nothing
   * after it of the same device before.
   */
  | { readonly status: 'failed'; readonly reason: string; readonly retryAfterMs?: number }

/** An open destination. */
export type Sender = {
  /**
   * Sends events of one customer, in this order.
   *
   * @param events At least one, at most `maxEvents` of the kind.
   * @param signal Aborted when the gateway stops or the attempt takes too long.
   * @returns One result for each event, in order. Never rejects because of the destination: that is `failed`.
   */
  send(events: readonly ForwardEvent[], signal: AbortSignal): Promise<readonly Delivery[]>
  /** Finishes what was sent. */
  close(): Promise<void>
}

/** What a kind gets from outside. */
export type SenderDependencies = {
  readonly destinationId: string
  readonly customer: string
  /** Statuses of the customer's orders that are refunds by its settings, in lower case. Read again for each batch. */
  readonly refundStatuses: () => readonly string[]
  /** Folder for the files of this destination. Already created, with the mode 0700, for the kind `file`. */
  readonly folder: string
  readonly fetch: typeof fetch
  /** The clock, ms since 1970. */
  readonly now: () => number
}

/** A kind of destination. */
export type Kind<Settings extends Record<string, unknown> = Record<string, unknown>> = {
  readonly name: KindName
  /** Of the settings. Its messages are shown to the operator who has typed them. */
  readonly settings: GenericSchema<unknown, Settings>
  /** Names of settings that are secret. They are read from the environment or stdin, and never shown. */
  readonly secrets: readonly string[]
  /** Fields of the payload that it can not do without, so no destination of this kind leaves them out. Default none. */
  readonly required?: readonly string[]
  /**
   * Whether it keeps of an order what it gets last. Then a dead letter of an order that has a newer content, or a newer
   * status, is not sent again. Default false.
   */
  readonly keepsLast?: boolean
  /** The most events of one call of `send`. With 1, the events of different devices are sent side by side. */
  readonly maxEvents: number
  /** What it receives, in a few words without secrets, such as its host. For lists and logs. */
  describe(settings: Settings): string
  open(settings: Settings, dependencies: SenderDependencies): Sender
}
