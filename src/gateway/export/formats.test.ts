import { parquetMetadata, parquetReadObjects } from 'hyparquet'
import { expect, test } from 'vitest'
import type { CreateEncoder } from './format.ts'
import { FORMATS } from './formats.ts'
import type { ExportRecord } from './record.ts'

const RECORD: ExportRecord = {
  customer: 'demo',
  id: '0197a5b0-0000-7000-8000-000000000001',
  at: 1_700_000_000_000,
  receivedAt: 1_700_000_000_501,
  operation: 'search',
  event: 'search',
  did: 'd1',
  bot: false,
  version: '1.2.0',
  isCookieless: true,
  payload: '{"search_term":"mug"}',
}

const RECORDS: readonly ExportRecord[] = [
  RECORD,
  { ...RECORD, event: 'quotes " and ""', payload: '{"search_term":"\\"x\\", \\n"}' },
  { ...RECORD, event: 'lines\r\nand\nmore,\tcommas', did: '' },
  { ...RECORD, event: 'nul \0 inside', version: '\u2028\u{feff}' },
  { ...RECORD, event: '漢字 👩‍🚀 \u202e', payload: '{"search_term":"lămpi 😀\\u0000"}' },
  { ...RECORD, event: '=HYPERLINK("https://evil.example")', did: '+1', version: '@x' },
  { ...RECORD, event: "'quoted'", did: '-1', version: '\tx' },
  { ...RECORD, did: null, version: null, bot: true, isCookieless: false },
  { ...RECORD, payload: JSON.stringify({ text: 'x'.repeat(100_000) }) },
]

const HEADER = [
  ...['id', 'customer', 'received_at', 'at', 'operation', 'event', 'did', 'bot'],
  ...['version', 'cookieless', 'payload'],
]

/** The columns as they should be read, with times as ISO texts. */
const EXPECTED = RECORDS.map((record) => ({
  id: record.id,
  customer: record.customer,
  received_at: '2023-11-14T22:13:20.501Z',
  at: '2023-11-14T22:13:20.000Z',
  operation: record.operation,
  event: record.event,
  did: record.did,
  bot: record.bot,
  version: record.version,
  cookieless: record.isCookieless,
  payload: record.payload,
}))

function encode(format: string, ...groups: (readonly ExportRecord[])[]): Buffer {
  const encoder = (FORMATS.get(format) as CreateEncoder)()
  const parts = [encoder.begin(), ...groups.map((group) => encoder.encode(group).bytes)]
  return Buffer.concat([...parts, encoder.end()])
}

/** The cells of a CSV file (RFC 4180). One without quotes is null if it is empty. */
function readCsv(text: string): (string | null)[][] {
  const rows: (string | null)[][] = [[]]
  const cell = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/y
  while (cell.lastIndex < text.length) {
    const [, quoted, plain, end] = cell.exec(text) ?? []
    if (end === undefined) throw new Error('Not CSV')
    rows.at(-1)?.push(quoted?.replaceAll('""', '"') ?? (plain || null))
    if (end === '\r\n') rows.push([])
  }
  return rows.slice(0, -1)
}

const bufferOf = (bytes: Buffer): ArrayBuffer => new Uint8Array(bytes).buffer

test('ndjson has every text as it is', () => {
  const lines = encode('ndjson', RECORDS.slice(0, 4), RECORDS.slice(4)).toString().split('\n')
  expect(lines.pop()).toBe('')
  expect(lines.map((line) => JSON.parse(line))).toEqual(EXPECTED)
  expect(Object.keys(JSON.parse(lines[0] as string))).toEqual(HEADER)
})

test('csv has a header, quoted texts, empty nulls, and no formula', () => {
  const [header, ...rows] = readCsv(encode('csv', RECORDS).toString())
  expect(header).toEqual(HEADER)
  const guarded = (text: string | null) =>
    text !== null && /^[=+\-@\t\r\n']/.test(text) ? `'${text}` : text
  expect(rows).toEqual(
    EXPECTED.map(({ bot, cookieless, ...texts }) =>
      HEADER.map((name) => {
        if (name === 'bot') return `${bot}`
        return name === 'cookieless' ? `${cookieless}` : guarded(texts[name as 'event'])
      }),
    ),
  )
  expect(rows.flat().filter((cell) => /^[=+\-@\t\r\n]/.test(cell ?? ''))).toEqual([])
})

test('parquet has typed columns and a row group for each group', async () => {
  const file = bufferOf(encode('parquet', RECORDS.slice(0, 4), RECORDS.slice(4)))
  const metadata = parquetMetadata(file)
  expect(metadata.row_groups.map(({ num_rows: rows }) => rows)).toEqual([4n, 5n])
  expect(metadata.schema.slice(1).map(({ name, type }) => [name, type])).toEqual(
    HEADER.map((name) => [
      name,
      ['at', 'received_at'].includes(name)
        ? 'INT64'
        : ['bot', 'cookieless'].includes(name)
          ? 'BOOLEAN'
          : 'BYTE_ARRAY',
    ]),
  )
  const rows = await parquetReadObjects({ file })
  const iso = (time: unknown) => (time as Date).toISOString()
  expect(
    rows.map((row) => ({ ...row, at: iso(row.at), received_at: iso(row.received_at) })),
  ).toEqual(EXPECTED)
})

test.each([...FORMATS.keys()])('%s: an export without events is a valid file', async (format) => {
  const bytes = encode(format)
  if (format === 'ndjson') expect(bytes).toHaveLength(0)
  if (format === 'csv') expect(readCsv(bytes.toString())).toEqual([HEADER])
  if (format === 'parquet') expect(await parquetReadObjects({ file: bufferOf(bytes) })).toEqual([])
})

test.each([...FORMATS.keys()])('%s: a new encoder continues the same file', (format) => {
  const groups = [RECORDS.slice(0, 2), RECORDS.slice(2, 3), RECORDS.slice(3)]
  const create = FORMATS.get(format) as CreateEncoder
  const parts: Uint8Array[] = [create().begin()]
  const footers: Uint8Array[] = []
  const written = () => ({ bytes: Buffer.concat(parts).length, footers })
  for (const group of groups) {
    const { bytes, footer } = create(written()).encode(group)
    parts.push(bytes)
    if (footer) footers.push(footer)
  }
  parts.push(create(written()).end())
  expect(Buffer.concat(parts).equals(encode(format, ...groups))).toBe(true)
})
