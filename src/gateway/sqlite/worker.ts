import { basename } from 'node:path'
import { workerData } from 'node:worker_threads'
import { explain, isDamaged } from './database.ts'
import { messageOf, serve } from './remote.ts'
import { openStore, type Store } from './store.ts'

/**
 * The thread of the store. A commit that waits for a slow disk, a checkpoint or a long read does not stop the
 * connections, which another thread serves. The thread carries out one call after the other.
 */
const file: string = workerData

/** The thread that started this one gets no message of an error of SQLite. */
function open(): Store {
  try {
    return openStore(file)
  } catch (error) {
    throw new Error(explain(basename(file), error))
  }
}

serve<Store>(open(), (error) => {
  const isFinal = isDamaged(error)
  return { message: isFinal ? explain(basename(file), error) : messageOf(error), isFinal }
})
