import { basename } from 'node:path'
import { Unavailable } from '../lib/unavailable.ts'
import { fileIdOf } from './fileWatch.ts'
import { createRestart, type RestartOptions } from './restart.ts'
import { goneError, type SqliteThread, startSqliteThread, type ThreadOptions } from './thread.ts'

/** Options of a supervised thread. */
export type Supervision = Pick<ThreadOptions, 'deadlineMs'> & {
  /**
   * Called once, when the thread can not be restarted: it has ended too often, or its file was removed or replaced.
   * Every call is rejected from then on. Only a new process may help.
   */
  readonly onFatal?: (error: Error) => void
  /** Called when the thread has ended and when it has been restarted. */
  readonly onChange?: () => void
  /** Default: 5 restarts in a row, after 0.2, 0.4, 0.8, 1.6 and 3.2 s. */
  readonly backoff?: Pick<RestartOptions, 'maxTries' | 'baseMs' | 'stableMs'>
}

const MAX_TRIES = 5
/** Retry-After, seconds. */
const RETRY_SECONDS = 5

/**
 * Starts a thread, and restarts it with backoff when it ends, such as after a bug or out of memory. Calls that
 * it had not answered, and calls during the restart, are rejected with Unavailable.
 *
 * A thread that hangs is not terminated: it waits for the disk, and a commit that has begun may still become durable.
 * Its calls have a deadline, and the queue in front of the log reports that it is slow.
 *
 * @throws Error if the file can not be opened as a durable store.
 */
export async function startSupervisedThread(
  file: string,
  workerFile: URL,
  supervision: Supervision = {},
): Promise<SqliteThread> {
  const { onFatal = () => {}, onChange = () => {}, deadlineMs } = supervision
  const name = basename(file)
  let thread: SqliteThread | undefined
  let starting: Promise<void> | undefined
  let isClosed = false
  /** Why there is no thread. */
  let reason = ''
  let isFatal = false

  const restart = createRestart({
    maxTries: MAX_TRIES,
    ...supervision.backoff,
    start: () => {
      starting = startAgain()
    },
    giveUp: (error) =>
      fail(new Error(`The thread of ${name} can not be restarted: ${messageOf(error)}`)),
  })

  /** The message without the folder, since /readyz shows it to strangers. */
  const messageOf = ({ message }: Error): string => message.replaceAll(file, name)

  const start = async () => {
    thread = await startSqliteThread(file, workerFile, {
      ...(deadlineMs !== undefined && { deadlineMs }),
      onGone: fail,
      onEnd,
    })
  }
  await start()
  const opened = fileIdOf(file)

  async function startAgain(): Promise<void> {
    try {
      // Opening a missing file would create an empty one.
      if (fileIdOf(file) !== opened) return fail(goneError(file))
      await start()
      if (isClosed) await thread?.close()
      else onChange()
    } catch (error) {
      if (!isClosed) restart.ended(error as Error)
    }
  }

  function onEnd(error: Error): void {
    thread = undefined
    reason = `The thread of ${name} has ended and is being restarted (${messageOf(error)})`
    onChange()
    if (!isFatal) restart.ended(error)
  }

  function fail(error: Error): void {
    if (isFatal || isClosed) return
    isFatal = true
    reason = error.message
    // Closed now, not after the server: closing writes the rest of the -wal to a file that was moved away.
    void thread?.close()
    onFatal(error)
  }

  return {
    call: (name, ...args) =>
      thread
        ? thread.call(name, ...args)
        : Promise.reject(new Unavailable('The event log is being restarted', RETRY_SECONDS)),
    fault: () => (thread && !isFatal ? thread.fault() : reason),
    async close() {
      isClosed = true
      restart.stop()
      await starting
      await thread?.close()
    },
  }
}
