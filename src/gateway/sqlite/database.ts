import Database from 'better-sqlite3'

/**
 * Opens a SQLite file so that a commit is on the disk when it returns.
 *
 * better-sqlite3 is built with `DEFAULT_WAL_SYNCHRONOUS=1`: a WAL database opens with NORMAL, which
 * loses the last commits in a power cut. So FULL is set on every open and read back; `fullfsync` is what
 * makes an fsync reach the disk on macOS and does nothing elsewhere.
 *
 * @param tables SQL that makes what is missing. Default none.
 * @throws Error that names the file, when it can not be opened or does not take these settings.
 */
export function openDatabase(file: string, tables = ''): Database.Database {
  let database: Database.Database | undefined
  try {
    database = new Database(file, { timeout: 5_000 })
    keepDurable(database, file)
    database.exec(tables)
    return database
  } catch (error) {
    database?.close()
    throw new Error(explain(file, error), { cause: error })
  }
}

function keepDurable(database: Database.Database, file: string): void {
  database.pragma('journal_mode = WAL')
  database.pragma('synchronous = FULL')
  database.pragma('fullfsync = ON')
  database.pragma('checkpoint_fullfsync = ON')
  const mode = database.pragma('journal_mode', { simple: true })
  const synchronous = database.pragma('synchronous', { simple: true })
  if (mode !== 'wal' || synchronous !== 2)
    throw new Error(`${file}: SQLite keeps journal_mode ${mode} and synchronous ${synchronous}`)
}

function explain(file: string, error: unknown): string {
  const { code = '', message } = error as { code?: string; message: string }
  if (/^SQLITE_(NOTADB|CORRUPT)/.test(code))
    return `${file} is no database of ours, or is damaged (${message}). Put its backup in its place, or move it and its -wal and -shm away: the next start makes a new one`
  if (/^SQLITE_(CANTOPEN|READONLY|PERM|AUTH)/.test(code))
    return `${file} can not be opened for writing (${message}). Look at who owns it and its folder`
  if (/^SQLITE_(BUSY|LOCKED)/.test(code))
    return `${file} is locked by another process (${message}). End what else has it open`
  if (code === 'SQLITE_FULL') return `${file} can not grow: the disk is full`
  return message.includes(file) ? message : `${file}: ${message}`
}
