export const DEFAULT_REPLICAS = 3
export const MAX_REPLICAS = 5
export const DEFAULT_PARTITIONS = 4
export const MAX_PARTITIONS = 64
/**
 * How long a stream remembers message ids, ms. A gateway's client repeats an event within seconds; an outbox that was
 * offline repeats it days later, which readers find in their own tables. The servers keep these ids in memory.
 */
export const DEFAULT_DUPLICATE_WINDOW_MS = 600_000
/**
 * Shortest setting, ms. A gateway sends an event again until its deadline (5 s after it was sent first), and a message
 * may wait in the buffers of a node that hangs for about as long.
 */
export const MIN_DUPLICATE_WINDOW_MS = 30_000

/** How to reach a NATS cluster, and what to create in it. */
export type NatsOptions = {
  /** `host:port` of its servers, in any number: the others are learned from them. Default port 4222. */
  readonly servers: readonly string[]
  /** Whether to require TLS. Default: only if the server does. */
  readonly isTls?: boolean | undefined
  /** Path of a credentials file (.creds). */
  readonly credentialsFile?: string | undefined
  readonly user?: string | undefined
  readonly password?: string | undefined
  readonly token?: string | undefined
  /** Paths of PEM files: certificates of the authority, own certificate, own private key. */
  readonly caFile?: string | undefined
  readonly certFile?: string | undefined
  readonly keyFile?: string | undefined
  /** Nodes that keep each message, when streams are created. Default DEFAULT_REPLICAS. */
  readonly replicas?: number | undefined
  /** Streams that customers are spread over, when they are created. Default DEFAULT_PARTITIONS. */
  readonly partitions?: number | undefined
  /** Default DEFAULT_DUPLICATE_WINDOW_MS. */
  readonly duplicateWindowMs?: number | undefined
  /** How long the streams keep events, ms. Default: without a limit. */
  readonly maxAgeMs?: number | undefined
  /** Most bytes of a stream. Default: without a limit. */
  readonly maxBytes?: number | undefined
  /** Whether the process follows the log too. Default true. */
  readonly follow?: boolean | undefined
}
