import type { LogEvent } from '../collect/eventLog.ts'

/** An event as it is exported. */
export type ExportRecord = Omit<LogEvent, 'cookieless'> & { readonly isCookieless: boolean }

/** A type of a column, the same in all formats. */
type ColumnType = 'text' | 'time' | 'boolean'

/** A column of an export. `docs/export.md` describes them: one is added at the end, and none gets another meaning. */
export type Column = {
  readonly name: string
  readonly type: ColumnType
  /** Whether the value can be null. */
  readonly isOptional?: boolean
  readonly read: (record: ExportRecord) => string | number | boolean | null
}

export const COLUMNS: readonly Column[] = [
  { name: 'id', type: 'text', read: ({ id }) => id },
  { name: 'customer', type: 'text', read: ({ customer }) => customer },
  { name: 'received_at', type: 'time', read: ({ receivedAt }) => receivedAt },
  { name: 'at', type: 'time', read: ({ at }) => at },
  { name: 'operation', type: 'text', read: ({ operation }) => operation },
  { name: 'event', type: 'text', read: ({ event }) => event },
  { name: 'did', type: 'text', isOptional: true, read: ({ did }) => did },
  { name: 'bot', type: 'boolean', read: ({ bot }) => bot },
  { name: 'version', type: 'text', isOptional: true, read: ({ version }) => version },
  { name: 'cookieless', type: 'boolean', read: ({ isCookieless }) => isCookieless },
  { name: 'payload', type: 'text', read: ({ payload }) => payload },
]
