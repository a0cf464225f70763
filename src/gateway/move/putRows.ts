import type { Database } from 'better-sqlite3'
import type { Row } from './source.ts'

/**
 * Inserts or changes rows of a table, in one transaction. Rows that are there already as they should be are not written,
 * so a mirror sends nothing for them.
 */
export function putRows(database: Database, table: string, rows: Iterable<Row>): void {
  const key = database
    .prepare<[string], string>('SELECT name FROM pragma_table_info(?) WHERE pk > 0')
    .pluck()
    .all(table)
  const isKey = key.map((name) => `${name} = @${name}`).join(' AND ')
  const find = database.prepare<[Row], Row>(`SELECT * FROM ${table} WHERE ${isKey}`)
  const put = database.transaction(() => {
    for (const row of rows) {
      const names = Object.keys(row)
      const found = find.get(row)
      if (found && names.every((name) => isSame(found[name], row[name]))) continue
      database
        .prepare<[Row]>(
          `INSERT OR REPLACE INTO ${table} (${names.join(', ')}) VALUES (${names.map((name) => `@${name}`).join(', ')})`,
        )
        .run(row)
    }
  })
  put.immediate()
}

type Cell = Row[string] | undefined

const isSame = (a: Cell, b: Cell): boolean =>
  Buffer.isBuffer(a) && Buffer.isBuffer(b) ? a.equals(b) : a === b
