import { deserialize, serialize } from 'node:v8'
import { ByteWriter, ParquetWriter, type SchemaElement } from 'hyparquet-writer'
import { version } from '../lib/version.ts'
import type { Encoder, Written } from './format.ts'
import { COLUMNS, type Column } from './record.ts'

/** What the footer of the file has of a row group. */
type Footer = Pick<ParquetWriter, 'row_groups' | 'pendingIndexes'>

const SCHEMA: SchemaElement[] = [
  { name: 'events', num_children: COLUMNS.length },
  ...COLUMNS.map(
    ({ name, type, isOptional }): SchemaElement => ({
      name,
      repetition_type: isOptional ? 'OPTIONAL' : 'REQUIRED',
      ...typesOf(type),
    }),
  ),
]

function typesOf(
  type: Column['type'],
): Pick<SchemaElement, 'type' | 'converted_type' | 'logical_type'> {
  if (type === 'boolean') return { type: 'BOOLEAN' }
  if (type === 'text')
    return { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } }
  return {
    type: 'INT64',
    converted_type: 'TIMESTAMP_MILLIS',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
  }
}

/**
 * Apache Parquet with a row group for each group of records, compressed with Snappy. The encoder keeps the footers of
 * all row groups in memory, about 4 KB each.
 */
export function createParquet(written?: Written): Encoder {
  const writer = new ByteWriter()
  const parquet = new ParquetWriter({ writer, schema: SCHEMA, createdBy: `shoptrail ${version}` })
  if (written) {
    // The file has its head already.
    take()
    writer.offset = written.bytes
    for (const bytes of written.footers) {
      const { row_groups: rowGroups, pendingIndexes }: Footer = deserialize(bytes)
      parquet.row_groups.push(...rowGroups)
      parquet.pendingIndexes.push(...pendingIndexes)
      for (const { num_rows: rows } of rowGroups) parquet.num_rows += rows
    }
  }

  /** What was written since the last call. The writer's offset stays that in the file. */
  function take(): Uint8Array {
    const bytes = writer.getBytes().slice()
    writer.index = 0
    return bytes
  }

  return {
    begin: take,
    encode(records) {
      const [rowGroups, indexes] = [parquet.row_groups.length, parquet.pendingIndexes.length]
      parquet.write({
        rowGroupSize: records.length,
        columnData: COLUMNS.map(({ name, type, read }) => ({
          name,
          data: records.map(read),
          // Bounds help to skip row groups by time. Those of texts would only make the footer larger.
          statistics: type === 'time',
        })),
      })
      const footer: Footer = {
        row_groups: parquet.row_groups.slice(rowGroups),
        // In one value with the row groups, since they share objects that the end of the file changes.
        pendingIndexes: parquet.pendingIndexes.slice(indexes),
      }
      return { bytes: take(), footer: serialize(footer) }
    },
    end() {
      parquet.finish()
      return take()
    },
  }
}
