import { chmodSync, closeSync, openSync, realpathSync, statSync } from 'node:fs'

/** Read and write for the owner only: the databases contain e-mail addresses. */
const PRIVATE = 0o600
/** Permissions of everybody but the owner. */
const OTHERS = 0o077

/**
 * The paths of a database, its -wal and its -shm. SQLite resolves symbolic links, so the last two are in the folder
 * of the link's target.
 */
export function filesOf(file: string): readonly string[] {
  const path = realpathSync(file)
  return [path, `${path}-wal`, `${path}-shm`]
}

/**
 * Creates the file with mode 0600, whatever the umask is, if it does not exist. SQLite creates the -wal and the -shm
 * with the mode of the database.
 *
 * An existing file is not opened here: closing any descriptor of a file drops the POSIX locks that the process holds
 * on it (https://www.sqlite.org/howtocorrupt.html, 2.2).
 *
 * @throws Error if the path is not a regular file.
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
    // Another process has just created it, or it is a symbolic link whose target SQLite will create.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

/**
 * Removes the permissions of group and others from a database, its -wal and its -shm.
 *
 * @throws Error that names the file, if this process may not change its mode.
 */
export function makePrivate(file: string): void {
  for (const path of filesOf(file)) {
    const stats = statSync(path, { throwIfNoEntry: false })
    if (!stats || (stats.mode & OTHERS) === 0) continue
    try {
      chmodSync(path, PRIVATE)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      // The last connection of another process has just deleted the -wal or the -shm.
      if (code === 'ENOENT') continue
      throw new Error(
        `${path} can be read by others, and this process may not change that (${code}). Its owner can: chmod 600 ${path}`,
        { cause: error },
      )
    }
  }
}
