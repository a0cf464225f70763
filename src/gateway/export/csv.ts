import { textEncoder } from './format.ts'
import { COLUMNS, type Column, type ExportRecord } from './record.ts'

/** Ends a line (RFC 4180, 2.1). */
const CRLF = '\r\n'

/**
 * A spreadsheet executes a cell that begins with one of these as a formula, and some texts come from strangers
 * (https://owasp.org/www-community/attacks/CSV_Injection). An apostrophe keeps it a text. A text that begins with an
 * apostrophe gets one too, so that removing one from each text restores all of them.
 */
const GUARDED = /^[=+\-@\t\r\n']/

/** A header, then a line for each event (RFC 4180). A cell without quotes is never an empty text: it is null. */
export const createCsv = textEncoder(
  COLUMNS.map(({ name }) => name).join(',') + CRLF,
  (record) => COLUMNS.map((column) => cellOf(column, record)).join(',') + CRLF,
)

function cellOf({ type, read }: Column, record: ExportRecord): string {
  const value = read(record)
  if (value === null) return ''
  if (type === 'time') return new Date(value as number).toISOString()
  if (type === 'boolean') return `${value}`
  const text = GUARDED.test(`${value}`) ? `'${value}` : `${value}`
  return `"${text.replaceAll('"', '""')}"`
}
