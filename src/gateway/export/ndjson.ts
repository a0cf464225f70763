import { textEncoder } from './format.ts'
import { COLUMNS, type Column, type ExportRecord } from './record.ts'

/** A JSON object in a line for each event. The payload is a text, as in the other formats. */
export const createNdjson = textEncoder(
  '',
  (record) =>
    `${JSON.stringify(Object.fromEntries(COLUMNS.map((column) => [column.name, cellOf(column, record)])))}\n`,
)

function cellOf({ type, read }: Column, record: ExportRecord) {
  const value = read(record)
  return type === 'time' ? new Date(value as number).toISOString() : value
}
