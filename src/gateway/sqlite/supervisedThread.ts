import { basename } from 'node:path'
import { Unavailable } from '../eventLog.ts'
import { fileIdOf } from './fileWatch.ts'
import { createRestart, type RestartOptions } from './restart.ts'
import { goneError, type SqliteThread, startSqliteThread, type ThreadOptions } from './thread.ts'

/** What a supervised thread needs beside its file. */
export type Supervision = Pick<ThreadOptions, 'deadlineMs'> & {
  /**
   * Called once, when the thread can not come back: it ended too often, or its file is not the one that was
   * opened. Nothing is answered from then on; only a new start of the process may help.
   */
  readonly onFatal?: (error: Error) => void
  /** Called when the thread has ended or is there again. */
  readonly onChange?: () => void
  /** When it is started again. Default: 5 tries in 6 seconds. */
  readonly backoff?: Pick<RestartOptions, 'maxTries' | 'baseMs' | 'stableMs'>
}

const MAX_TRIES = 5
/** When to try again, seconds. */
const RETRY_SECONDS = 5

/**
 * Starts a thread, and starts it again when it has ended: after an error of ours, or without memory. What it
 * was asked when it ended is rejected with Unavailable, and so is what it is asked while it is away.
 *
 * A thread that hangs is not ended: it waits for a disk, which nothing here can hurry, and what it has begun may
 * still become durable. Its questions have deadlines, and the queue in front of the log says that it is slow.
 *
 * @throws Error when the file can not be opened as a durable store.
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
  let away = ''
  let isFatal = false

  const restart = createRestart({
    maxTries: MAX_TRIES,
    ...supervision.backoff,
    start: () => {
      starting = again()
    },
    giveUp: (error) =>
      fail(new Error(`The thread of ${name} can not be started again: ${tell(error)}`)),
  })

  /** Whoever asks whether the gateway is ready is told, and need not know the folder. */
  const tell = ({ message }: Error): string => message.replaceAll(file, name)

  const start = async () => {
    thread = await startSqliteThread(file, workerFile, {
      ...(deadlineMs !== undefined && { deadlineMs }),
      onGone: fail,
      onEnd,
    })
  }
  await start()
  const opened = fileIdOf(file)

  async function again(): Promise<void> {
    try {
      // A file that is missing would be made, and be empty.
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
    away = `The thread of ${name} has ended and is started again (${tell(error)})`
    onChange()
    if (!isFatal) restart.ended(error)
  }

  function fail(error: Error): void {
    if (isFatal || isClosed) return
    isFatal = true
    away = error.message
    // At once, not with the server: a file that was moved away gets what is still in its -wal.
    void thread?.close()
    onFatal(error)
  }

  return {
    ask: (question) =>
      thread
        ? thread.ask(question)
        : Promise.reject(new Unavailable('The event log is away', RETRY_SECONDS)),
    fault: () => (isFatal ? away : thread ? thread.fault() : away),
    async close() {
      isClosed = true
      restart.stop()
      await starting
      await thread?.close()
    },
  }
}
