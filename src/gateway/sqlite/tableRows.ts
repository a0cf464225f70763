import type { Database } from 'better-sqlite3'

/** A table whose rows are kept equal with a bucket. */
export type MirroredTable = {
  readonly table: string
  /** The columns that identify a row: text, integers or blobs, never NULL. A row is one entry of the bucket. */
  readonly key: readonly string[]
}

/** The values of the key's columns as text. A blob is hexadecimal, in upper case. */
export type RowKey = readonly string[]

export type TableRows = ReturnType<typeof createTableRows>
type Cell = string | number | null | Buffer
type Column = { readonly name: string; readonly type: string }

/** Reads and writes rows of one table as JSON. */
export function createTableRows(database: Database, { table, key }: MirroredTable) {
  const all = database
    .prepare<[string], Column>('SELECT name, upper(type) AS type FROM pragma_table_info(?)')
    .all(table)
  const columns = all.map(({ name }) => name)
  const keyTypes = key.map((name) => all.find((column) => column.name === name)?.type)
  if (keyTypes.includes(undefined)) throw new Error(`${table} has no column of the key ${key}`)
  const isKey = key.map((name) => `${name} = ?`).join(' AND ')
  const select = database.prepare<Cell[], Record<string, Cell>>(
    `SELECT ${columns.join(', ')} FROM ${table} WHERE ${isKey}`,
  )
  const erase = database.prepare<Cell[]>(`DELETE FROM ${table} WHERE ${isKey}`)
  const toKeyText = database
    .prepare<RowKey[number][], string>(`SELECT json_array(${key.map(() => '?').join(', ')})`)
    .pluck()
  const uniques = findUniques(database, table)
    .filter((names) => !names.every((name) => key.includes(name)))
    .map((names) => ({
      names,
      select: database
        .prepare<Cell[], string>(
          `SELECT ${keyOf('', key, keyTypes)} FROM ${table} WHERE ${names.map((name) => `${name} = ?`).join(' AND ')} AND NOT (${isKey})`,
        )
        .pluck(),
    }))

  const cellsOf = (texts: RowKey): Cell[] =>
    texts.map((text, i) => {
      if (keyTypes[i] === 'INTEGER') return Number(text)
      return keyTypes[i] === 'BLOB' ? Buffer.from(text, 'hex') : text
    })

  return {
    table,
    columns,
    key,
    keyTypes,
    /** The key as the triggers write it. */
    keyText: (texts: RowKey): string => toKeyText.get(...texts) as string,
    read(texts: RowKey): string | undefined {
      const row = select.get(...cellsOf(texts))
      return row && encode(row)
    },
    /** The JSON of a row with the columns of this table, in their order. Columns that it has not are left out. */
    normalize(value: string): string {
      const row = decode(value)
      const own = columns.filter((name) => row[name] !== undefined)
      return encode(Object.fromEntries(own.map((name) => [name, row[name] as Cell])))
    },
    /** Inserts, replaces or deletes the row. */
    write(texts: RowKey, value: string | undefined): void {
      if (value === undefined) {
        erase.run(...cellsOf(texts))
        return
      }
      const row = decode(value)
      const names = Object.keys(row)
      database
        .prepare<Cell[]>(
          `INSERT OR REPLACE INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`,
        )
        .run(...(Object.values(row) as Cell[]))
    },
    /** The keys of other rows that have unique values of this one. */
    findInPlace(texts: RowKey, value: string): readonly string[] {
      const row = decode(value)
      return uniques.flatMap(({ names, select: find }) =>
        find.all(...names.map((name) => row[name] ?? null), ...cellsOf(texts)),
      )
    },
  }
}

/** SQL of a row's key as JSON. @param row `NEW.`, `OLD.`, or nothing. */
export const keyOf = (
  row: string,
  key: readonly string[],
  types: readonly (string | undefined)[],
) =>
  `json_array(${key
    .map((name, i) => (types[i] === 'BLOB' ? `hex(${row}${name})` : `CAST(${row}${name} AS TEXT)`))
    .join(', ')})`

/** The columns of each UNIQUE and PRIMARY KEY of a table. */
function findUniques(database: Database, table: string): readonly (readonly string[])[] {
  const indexes = database
    .prepare<[string], string>(
      'SELECT name FROM pragma_index_list(?) WHERE "unique" = 1 AND partial = 0',
    )
    .pluck()
    .all(table)
  const columnsOf = database
    .prepare<[string], string | null>('SELECT name FROM pragma_index_info(?) ORDER BY seqno')
    .pluck()
  return indexes
    .map((index) => columnsOf.all(index))
    .filter((names): names is string[] => !names.includes(null))
}

/** A blob in JSON. */
type Blob64 = { readonly base64: string }

const encode = (row: Readonly<Record<string, Cell>>): string =>
  JSON.stringify(row, function (name, value) {
    // JSON.stringify calls toJSON of a buffer before.
    const cell = (this as Record<string, Cell>)[name]
    return Buffer.isBuffer(cell) ? ({ base64: cell.toString('base64') } satisfies Blob64) : value
  })

function decode(value: string): Record<string, Cell> {
  const row: Record<string, Cell | Blob64> = JSON.parse(value)
  return Object.fromEntries(
    Object.entries(row).map(([name, cell]) => [
      name,
      typeof cell === 'object' && cell !== null && 'base64' in cell
        ? Buffer.from(cell.base64, 'base64')
        : (cell as Cell),
    ]),
  )
}
