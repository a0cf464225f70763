import { JetStreamApiError } from '@nats-io/jetstream'
import { delay, headers } from '@nats-io/transport-node'
import { Unavailable } from '../lib/unavailable.ts'
import type { Applied, ChangedRow, MirrorRows } from '../sqlite/mirrorRows.ts'
import { WRONG_SEQUENCE } from './apiErrors.ts'
import type { Broker } from './broker.ts'
import { BARRIER, isDeletion, OPERATION, toEntryKey } from './mirrorEntries.ts'

/** The connection of a mirror. */
export type Cluster = Pick<Broker, 'id' | 'nc' | 'js' | 'jsm'>

/** The sequence that the bucket must have for a change to be stored. */
type Expected = { readonly lastSequence: number } | { readonly lastSubjectSequence: number }

type Answered<Run> = Run extends (...args: infer Args) => infer Result
  ? (...args: Args) => Result | Promise<Result>
  : never

/** MirrorRows of this thread, or of another one whose calls are answered later. */
export type MirroredRows = { readonly [Name in keyof MirrorRows]: Answered<MirrorRows[Name]> }

/** The part of a mirror that stores changes of the local tables in the bucket. */
export type MirrorWriter = {
  /** Resolves when there are no changes left. Rejects with Unavailable, and with errors of the cluster. */
  pushAll(): Promise<void>
  /** A change of this subject that is being published. The watch may bring it before it is settled. */
  inFlight(subject: string): Promise<unknown> | undefined
}

export type MirrorWriterOptions = {
  readonly rows: MirroredRows
  readonly stream: string
  /** The prefix of the subjects of the entries. */
  readonly subjects: string
  /** See MirrorOptions. */
  readonly isExclusive: boolean
  /** Every message up to this sequence was applied, or is our own. */
  readonly head: () => number
  readonly advance: (sequence: number) => void
  /** Resolves when the condition holds. Rejects with Unavailable if it takes too long. */
  readonly reach: (condition: () => boolean) => Promise<void>
  readonly isCaughtUp: () => boolean
  /** How often unsettled changes were undone. */
  readonly undone: () => number
  readonly note: (applied: Applied) => void
  readonly isClosed: () => boolean
  /** Undefined before the first connection. */
  readonly connected: () => Cluster | undefined
}

/** Most bytes of a row as JSON. Below the default limit of a message (1 MiB). */
export const MAX_ROW_BYTES = 512 * 1024
/** Changes that are read, and rows that are applied, in one transaction. */
export const BATCH = 500
/** Changes that are published at the same time. */
const IN_FLIGHT = 32
/** Time for one change to be stored, or for the tables to catch up, ms. An election takes about as long. */
export const PATIENCE_MS = 4_000
/** How long messages may be on their way before a writer asks whether there are any, ms. */
const BARRIER_MS = 1_000
/** Retry-After, seconds. */
export const RETRY_SECONDS = 2

export function createMirrorWriter(given: MirrorWriterOptions): MirrorWriter {
  const { rows, stream, subjects, isExclusive, advance, reach, note } = given
  /** By subject. */
  const inFlight = new Map<string, Promise<unknown>>()

  async function pushAll(): Promise<void> {
    while (!given.isClosed()) {
      const changes = await rows.changes(BATCH)
      if (changes.length === 0) return
      const broker = given.connected()
      if (!broker) throw unavailable()
      await reach(given.isCaughtUp)
      const before = given.undone()
      const width = isExclusive ? 1 : IN_FLIGHT
      for (let i = 0; i < changes.length && given.undone() === before; i += width) {
        const isDone = await Promise.all(
          changes.slice(i, i + width).map((one) => push(broker, one)),
        )
        if (!isDone.every(Boolean)) break
      }
    }
  }

  /**
   * @param revision The revision of the row in the bucket.
   * @returns False if the changes have to be read again.
   */
  async function push(
    broker: Cluster,
    change: ChangedRow,
    revision = change.revision,
  ): Promise<boolean> {
    const { value, before, table } = change
    if (value === before) {
      await rows.settle([{ ...change, revision: undefined }])
      return true
    }
    if (value !== undefined && Buffer.byteLength(value) > MAX_ROW_BYTES) {
      note(await rows.undo())
      throw new Error(
        `A row of ${table} has more than ${MAX_ROW_BYTES} bytes, so it can not be stored in the cluster`,
      )
    }
    const lastSequence = given.head()
    try {
      const expect = isExclusive ? { lastSequence } : { lastSubjectSequence: revision }
      const sequence = await publishAndSettle(broker, change, expect)
      if (isExclusive) advance(sequence)
      return true
    } catch (error) {
      if (!isWrongSequence(error)) throw error
    }
    if (!isExclusive) return resolveWith(broker, change)
    await catchUpWith(broker, lastSequence)
    return false
  }

  async function publishAndSettle(
    cluster: Cluster,
    change: ChangedRow,
    expect: Expected,
  ): Promise<number> {
    const subject = subjects + toEntryKey(change.table, change.key)
    const settled = (async () => {
      const sequence = await publish(cluster, change, expect)
      await rows.settle([{ ...change, revision: sequence }])
      return sequence
    })()
    inFlight.set(subject, settled)
    try {
      return await settled
    } finally {
      inFlight.delete(subject)
    }
  }

  /** The row in the bucket is not what it was here. @returns Like `push`. */
  async function resolveWith(broker: Cluster, change: ChangedRow): Promise<boolean> {
    const { table, key, before, revision } = change
    const subject = subjects + toEntryKey(table, key)
    const entry = await broker.jsm.streams.getMessage(stream, { last_by_subj: subject })
    const isDeleted = !entry || isDeletion(entry.header)
    // It was deleted before this change. The bucket may have forgotten that.
    if (isDeleted && before === undefined && entry?.seq !== revision)
      return push(broker, change, entry?.seq ?? 0)
    const remote = {
      ...{ table, key, value: isDeleted ? undefined : entry.string() },
      revision: entry ? entry.seq : revision + 1,
    }
    const applied = await rows.apply([remote], 0)
    note(applied)
    // Without a fault the watch was faster.
    if (applied.faults.length > 0)
      throw new Error(`The row ${subject} of the bucket can not be stored here`)
    return false
  }

  async function publish(
    { js }: Cluster,
    { table, key, value }: ChangedRow,
    expect: Expected,
  ): Promise<number> {
    const options = { timeout: PATIENCE_MS, expect }
    const subject = subjects + toEntryKey(table, key)
    if (value !== undefined) return (await js.publish(subject, value, options)).seq
    const operation = headers()
    operation.set(OPERATION, 'DEL')
    return (await js.publish(subject, undefined, { ...options, headers: operation })).seq
  }

  /** Waits until the tables have more of the bucket. */
  async function catchUpWith({ js }: Cluster, known: number): Promise<void> {
    const wait = reach(() => given.head() > known)
    try {
      await Promise.race([wait, delay(BARRIER_MS)])
      if (given.head() > known) return
      // The last messages may be deleted, and never come. This one comes, and everything before it came.
      await js.publish(`${subjects}${BARRIER}`, undefined, { timeout: PATIENCE_MS })
    } catch (error) {
      wait.catch(() => {})
      throw error
    }
    await wait
  }

  return { pushAll, inFlight: (subject) => inFlight.get(subject) }
}

/** The change stays, and is tried again. */
export const unavailable = (cause?: unknown): Unavailable =>
  new Unavailable(
    'The change is not stored in the cluster yet, which does not answer in time. It is tried again',
    RETRY_SECONDS,
    cause,
  )

const isWrongSequence = (error: unknown): boolean =>
  error instanceof JetStreamApiError && WRONG_SEQUENCE.includes(error.code)
