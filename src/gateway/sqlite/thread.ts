import { basename } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Cells } from './cells.ts'
import type { CopyBatch } from './copying.ts'
import { filesOf } from './files.ts'
import { watchFiles } from './fileWatch.ts'
import { type Remote, remote } from './remote.ts'
import type { Store } from './store.ts'

/** The store of the events and the campaigns, in the thread that has its SQLite file open. */
export type SqliteThread = Pick<Remote<Store>, 'call' | 'fault' | 'close'>

/** Options of a thread. */
export type ThreadOptions = {
  /** Called once, if the thread has ended without `close`. */
  readonly onEnd?: (error: Error) => void
  /** Called once, if the file, its -wal or its -shm was removed or replaced. Every call is rejected from then on. */
  readonly onGone?: (error: Error) => void
  /**
   * Deadline of every call except `append` and `apply`, ms. Default 15,000. The queue in front of the log has a
   * deadline for appends, and nobody waits for a copy.
   */
  readonly deadlineMs?: number
}

const DEADLINE_MS = 15_000
/**
 * Far above what a commit or a list needs (about 50 MB). A leak ends only the thread, which is then restarted, and not
 * the process.
 */
const LIMITS = { maxYoungGenerationSizeMb: 8, maxOldGenerationSizeMb: 256 }

/** The error of a file that is not the one that was opened. */
export const goneError = (path: string): Error =>
  new Error(`${basename(path)} was removed or replaced while the gateway had it open`)

/**
 * Starts the thread.
 *
 * @param file Path of the database. Created if it is missing.
 * @param workerFile The bundle of worker.ts, in the folder of the gateway's bundle.
 * @throws Error if the file can not be opened as a durable store.
 */
export async function startSqliteThread(
  file: string,
  workerFile: URL,
  options: ThreadOptions = {},
): Promise<SqliteThread> {
  const { onEnd = () => {}, onGone = () => {}, deadlineMs = DEADLINE_MS } = options
  let stopWatching = () => {}
  const worker = new Worker(workerFile, {
    workerData: file,
    name: 'sqlite',
    resourceLimits: LIMITS,
  })
  const { call, ready, fault, refuse, close } = remote<Store>(worker, {
    subject: 'The event log',
    deadlineMs,
    unlimited: ['append', 'apply'],
    moved(name, [first]) {
      if (name === 'append') return [(first as Cells).bytes]
      return name === 'apply' ? [(first as CopyBatch).cells.bytes] : []
    },
    onEnd(error) {
      stopWatching()
      onEnd(error)
    },
  })
  await ready
  try {
    // The given path too: a symbolic link in it may be changed, while the files at its former target stay.
    stopWatching = watchFiles([file, ...filesOf(file)], (path) => {
      const error = goneError(path)
      refuse(error.message)
      onGone(error)
    })
  } catch (error) {
    await close()
    throw error
  }
  return {
    call,
    fault,
    close() {
      stopWatching()
      return close()
    },
  }
}
