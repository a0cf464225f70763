import { type BigIntStats, statSync } from 'node:fs'
import { stat } from 'node:fs/promises'

/** How often it is looked, ms. */
const LOOK_MS = 400
/**
 * A file counts as gone when so many looks in a row say so: a connection that ends deletes its -wal and -shm
 * a moment before that is known here.
 */
const LOOKS = 2
const GONE = 'gone'
/** Errors of stat that say that the file is not there any more: removed, or its file system is. */
const GONE_CODES = ['ENOENT', 'ENOTDIR', 'ESTALE']

const idOf = ({ dev, ino }: BigIntStats): string => `${dev}:${ino}`

/** Which file is at a path, whatever is in it: its device and inode, or `gone`. */
export function fileIdOf(path: string): string {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false })
  return stats ? idOf(stats) : GONE
}

/**
 * Looks, more than once a second, whether files are still those that are there now. A file that was removed or
 * replaced is written on by the process that has it open, and what it writes is lost: in WAL mode SQLite does
 * not notice.
 *
 * @param onGone Called once, with the path of the first one that is not.
 * @returns What ends it.
 */
export function watchFiles(paths: readonly string[], onGone: (path: string) => void): () => void {
  const files = paths.map((path) => ({ path, id: fileIdOf(path), looks: 0 }))
  let isLooking = false
  let isStopped = false

  async function look(file: (typeof files)[number]): Promise<void> {
    const id = await currentIdOf(file.path)
    if (file.id === GONE && id) file.id = id
    file.looks = id && id !== file.id ? file.looks + 1 : 0
  }

  async function lookAtAll(): Promise<void> {
    // Looks must not gather where a disk hangs.
    if (isLooking) return
    isLooking = true
    await Promise.all(files.map(look))
    isLooking = false
    const gone = files.find(({ looks }) => looks >= LOOKS)
    if (!gone || isStopped) return
    stop()
    onGone(gone.path)
  }

  const timer = setInterval(lookAtAll, LOOK_MS)
  timer.unref()

  function stop(): void {
    isStopped = true
    clearInterval(timer)
  }
  return stop
}

/** The same as fileIdOf; undefined where it can not be told now. */
async function currentIdOf(path: string): Promise<string | undefined> {
  try {
    return idOf(await stat(path, { bigint: true }))
  } catch (error) {
    return GONE_CODES.includes((error as NodeJS.ErrnoException).code ?? '') ? GONE : undefined
  }
}
