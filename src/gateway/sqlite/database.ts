import Database from 'better-sqlite3'

/**
 * Opens a SQLite file so that a commit is on the disk when it returns.
 *
 * better-sqlite3 is built with `DEFAULT_WAL_SYNCHRONOUS=1`: a WAL database opens with NORMAL, which
 * loses the last commits in a power cut. So FULL is set on every open and read back; `fullfsync` is what
 * makes an fsync reach the disk on macOS and does nothing elsewhere.
 *
 * @throws Error when the file can not be opened or does not take these settings.
 */
export function openDatabase(file: string): Database.Database {
  const database = new Database(file, { timeout: 5_000 })
  database.pragma('journal_mode = WAL')
  database.pragma('synchronous = FULL')
  database.pragma('fullfsync = ON')
  database.pragma('checkpoint_fullfsync = ON')
  const mode = database.pragma('journal_mode', { simple: true })
  const synchronous = database.pragma('synchronous', { simple: true })
  if (mode !== 'wal' || synchronous !== 2) {
    database.close()
    throw new Error(`${file}: SQLite keeps journal_mode ${mode} and synchronous ${synchronous}`)
  }
  return database
}
