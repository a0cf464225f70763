import type { JsMsg } from '@nats-io/jetstream'
import type { MsgHdrs } from '@nats-io/transport-node'
import type { RemoteRow } from '../sqlite/mirrorRows.ts'
import type { RowKey } from '../sqlite/tableRows.ts'
import { fromToken, toToken } from './names.ts'

/*
 * The entries of a mirror's bucket. Each is a row: its key has the table and the key's columns as tokens, its value is
 * the row as JSON. A deleted row is marked by a header, as the buckets of NATS have it.
 */

/** The header of a deletion, whose value is then DEL or PURGE. */
export const OPERATION = 'KV-Operation'

export const isDeletion = (head: MsgHdrs | undefined): boolean =>
  head !== undefined && head.get(OPERATION) !== ''

/** An empty token is not allowed. */
const EMPTY = '='
/** The key of an entry that is no row. */
export const BARRIER = 'barrier'

/** The key of a row's entry, without the prefix. */
export const toEntryKey = (table: string, key: RowKey): string =>
  [table, ...key.map((part) => toToken(part) || EMPTY)].join('.')

/** The row of an entry. None if it can not be one. */
export function toRow(message: JsMsg, subjects: string): RemoteRow[] {
  const [table = '', ...tokens] = message.subject.slice(subjects.length).split('.')
  try {
    const key = tokens.map((token) => (token === EMPTY ? '' : fromToken(token)))
    const value = isDeletion(message.headers) ? undefined : message.string()
    return [{ table, key, revision: message.seq, value }]
  } catch {
    return []
  }
}
