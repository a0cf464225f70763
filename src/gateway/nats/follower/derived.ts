import { headers } from '@nats-io/transport-node'
import type { DerivedFile } from '../../sqlite/derivedTables.ts'
import type { DerivedThread } from '../../sqlite/derivedThread.ts'
import type { Broker } from '../broker.ts'
import { eraseMessages } from '../eraseMessages.ts'
import { type Mirror, openMirror } from '../mirror.ts'
import { OPERATION, toEntryKey } from '../mirrorEntries.ts'
import { DERIVED_BUCKET, entrySubject, streamOfBucket } from '../names.ts'

/**
 * What followers have made and can not make again from the log: destinations with their positions and dead letters,
 * closed figures, proofs. It is in a bucket, so that every follower has it.
 */
export type Derived = {
  /** Resolves when the copy has everything that others have stored before the call. Rejects with Unavailable. */
  catchUp(): Promise<void>
  /** Resolves when everything that was written to the copy before the call is stored. Rejects with Unavailable. */
  flush(): Promise<void>
  /**
   * Calls the listener when others have changed destinations, positions or letters, or when such changes of this copy
   * were undone.
   *
   * @returns Removes the listener.
   */
  watchForward(listener: () => void): () => void
  /** Removes the dead letters of these events, also from the bytes of the bucket. */
  eraseLetters(seqs: readonly number[]): Promise<void>
  close(): Promise<void>
}

export type DerivedOptions = {
  readonly broker: Broker
  readonly partition: number
  /** Paths of the files. */
  readonly files: Readonly<Record<DerivedFile, string>>
  readonly thread: DerivedThread
  readonly onError: (error: unknown) => void
}

const FILES: readonly DerivedFile[] = ['events', 'forward']
const STREAM = streamOfBucket(DERIVED_BUCKET)

/** Starts to keep the files of a partition's copy and the bucket equal. */
export function startDerived(options: DerivedOptions): Derived {
  const { broker, partition, thread, onError } = options
  const listeners = new Set<() => void>()
  const prefixOf = (file: DerivedFile): string => `${partition}.${file}.`
  const opened = FILES.map((file) => {
    const tables = thread.open(file, options.files[file])
    const mirror: Mirror = openMirror({
      rows: tables,
      broker,
      bucket: DERIVED_BUCKET,
      prefix: prefixOf(file),
      ...(file === 'forward' && {
        onChange() {
          for (const listener of listeners) listener()
        },
      }),
      onError,
    })
    return { file, tables, mirror }
  })
  const forward = opened.find(({ file }) => file === 'forward') as (typeof opened)[number]

  return {
    async catchUp() {
      await Promise.all(opened.map(({ mirror }) => mirror.catchUp()))
    },
    async flush() {
      await Promise.all(opened.map(({ mirror }) => mirror.flush()))
    },
    watchForward(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    async eraseLetters(seqs) {
      for (const { destination, seq } of await forward.tables.lettersOf(seqs)) {
        const key = `${prefixOf('forward')}${toEntryKey('letters', [destination, `${seq}`])}`
        const subject = entrySubject(DERIVED_BUCKET, key)
        const stored = await broker.jsm.streams.getMessage(STREAM, { last_by_subj: subject })
        if (!stored || stored.data.length === 0) continue
        await eraseMessages(broker.jsm, STREAM, [stored.seq])
        // The other followers learn from this that the letter is gone.
        const deletion = headers()
        deletion.set(OPERATION, 'DEL')
        await broker.js.publish(subject, undefined, { headers: deletion })
      }
    },
    async close() {
      await Promise.all(opened.map(({ mirror }) => mirror.close()))
      await Promise.all(opened.map(({ tables }) => tables.close()))
    },
  }
}
