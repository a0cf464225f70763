import { type BigIntStats, statSync } from 'node:fs'
import { stat } from 'node:fs/promises'

/** Time between two checks, ms. */
const CHECK_MS = 400
/**
 * Checks in a row that must fail. A connection that closes deletes its -wal and -shm shortly before this process
 * knows that it has closed.
 */
const FAILED_CHECKS = 2
const GONE = 'gone'
/** stat errors which mean that the file, or its file system, has been removed. */
const GONE_CODES = ['ENOENT', 'ENOTDIR', 'ESTALE']

const idOf = ({ dev, ino }: BigIntStats): string => `${dev}:${ino}`

/** Device and inode of the file at a path; `gone` if there is none. */
export function fileIdOf(path: string): string {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false })
  return stats ? idOf(stats) : GONE
}

/**
 * Reports within about a second when one of these files is removed or replaced by another file. In WAL mode SQLite does
 * not check: it would continue to write to the removed file, and everything it writes would be lost.
 *
 * A file whose content is overwritten in place (`cp backup.db events.db`) keeps its inode and is not detected.
 *
 * @param onGone Called once, with the path of the first such file.
 * @returns Stops the checks.
 */
export function watchFiles(paths: readonly string[], onGone: (path: string) => void): () => void {
  const files = paths.map((path) => ({ path, id: fileIdOf(path), failed: 0 }))
  let isChecking = false
  let isStopped = false

  async function check(file: (typeof files)[number]): Promise<void> {
    const id = await currentIdOf(file.path)
    if (file.id === GONE && id) file.id = id
    file.failed = id && id !== file.id ? file.failed + 1 : 0
  }

  async function checkAll(): Promise<void> {
    // On a disk that hangs, checks must not pile up.
    if (isChecking) return
    isChecking = true
    await Promise.all(files.map(check))
    isChecking = false
    const gone = files.find(({ failed }) => failed >= FAILED_CHECKS)
    if (!gone || isStopped) return
    stop()
    onGone(gone.path)
  }

  const timer = setInterval(checkAll, CHECK_MS)
  timer.unref()

  function stop(): void {
    isStopped = true
    clearInterval(timer)
  }
  return stop
}

/** Like fileIdOf, without blocking; undefined if stat fails for another reason. */
async function currentIdOf(path: string): Promise<string | undefined> {
  try {
    return idOf(await stat(path, { bigint: true }))
  } catch (error) {
    return GONE_CODES.includes((error as NodeJS.ErrnoException).code ?? '') ? GONE : undefined
  }
}
