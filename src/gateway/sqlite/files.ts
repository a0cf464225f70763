import { chmodSync, closeSync, openSync, realpathSync, statSync } from 'node:fs'

/** For its owner alone: the databases hold e-mail addresses. */
const PRIVATE = 0o600
/** Permissions of everybody but the owner. */
const OTHERS = 0o077

/** A database's file and the two that SQLite keeps beside it, which go with the target of a symbolic link. */
export function filesOf(file: string): readonly string[] {
  const path = realpathSync(file)
  return [path, `${path}-wal`, `${path}-shm`]
}

/**
 * Makes the file where it is missing, for its owner alone whatever the umask is. SQLite gives the files beside
 * it the same mode.
 *
 * A file that is there is never opened: POSIX drops the locks of a process on a file when it closes any
 * descriptor of it (https://www.sqlite.org/howtocorrupt.html, 2.2).
 *
 * @throws Error where something that is no file is in its place.
 */
export function makeFile(file: string): void {
  const stats = statSync(file, { throwIfNoEntry: false })
  if (stats && !stats.isFile())
    throw new Error(
      `${file} is ${stats.isDirectory() ? 'a folder' : 'not a regular file'}. Move it away, or put the database in its place`,
    )
  if (stats) return
  try {
    closeSync(openSync(file, 'wx', PRIVATE))
    chmodSync(file, PRIVATE)
  } catch (error) {
    // Made by another process meanwhile, or a symbolic link to a file that SQLite makes.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

/**
 * Takes the permissions of everybody but the owner from a database's files.
 *
 * @throws Error that names the file, where it is somebody else's.
 */
export function makePrivate(file: string): void {
  for (const path of filesOf(file)) {
    const stats = statSync(path, { throwIfNoEntry: false })
    if (!stats || (stats.mode & OTHERS) === 0) continue
    try {
      chmodSync(path, PRIVATE)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      // The last connection of another process has just deleted it.
      if (code === 'ENOENT') continue
      throw new Error(
        `${path} can be read by others, and this process may not change that (${code}). Its owner can: chmod 600 ${path}`,
        { cause: error },
      )
    }
  }
}
