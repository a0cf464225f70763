import { createRequire } from 'node:module'
import type Sqlite from 'better-sqlite3'

const require = createRequire(import.meta.url)

/**
 * better-sqlite3. It is an optional peer of the package and is loaded at its first use, so that commands without a
 * database, and whoever installs the package for the client, do not need it (docs/decisions.md, "Package").
 */
const load = (): typeof Sqlite => require('better-sqlite3')

/** Opens a database file. See the documentation of better-sqlite3 for the options and the errors. */
export function connect(file: string, options: Sqlite.Options): Sqlite.Database {
  const Database = load()
  return new Database(file, options)
}

/** Whether an error was reported by SQLite. */
export const isSqliteError = (error: unknown): error is Error & { readonly code: string } =>
  error instanceof load().SqliteError

/** Why no database can be opened here, and what to do about it. Undefined if one can. */
export function findDriverFault(): string | undefined {
  try {
    connect(':memory:', {}).close()
    return undefined
  } catch (error) {
    return explainDriver(error as NodeJS.ErrnoException)
  }
}

const INSTALL = `
  in a project     npm install shoptrail better-sqlite3@12
  everywhere       npm install --global shoptrail better-sqlite3@12
  for one command  npx --package=shoptrail --package=better-sqlite3@12 shoptrail start`
const REBUILD = `
  npm rebuild better-sqlite3 --ignore-scripts=false
If that fails, it needs Python 3, make and a C++ compiler.`

/** Describes a failure to load better-sqlite3 for the person who started the command. */
function explainDriver({ code, message }: NodeJS.ErrnoException): string {
  if (code === 'MODULE_NOT_FOUND' && message.includes("'better-sqlite3'"))
    return `This command opens the gateway's databases. It needs the package better-sqlite3, which is not installed beside shoptrail:${INSTALL}`
  const [reason] = message.split('\n')
  return `better-sqlite3 is installed, but its binary can not be loaded by Node ${process.versions.node} (${reason}). Build it again, in the folder where it is installed:${REBUILD}`
}
