import { createCsv } from './csv.ts'
import type { CreateEncoder } from './format.ts'
import { createNdjson } from './ndjson.ts'
import { createParquet } from './parquet.ts'

/** The formats of an export by name. */
export const FORMATS: ReadonlyMap<string, CreateEncoder> = new Map([
  ['ndjson', createNdjson],
  ['csv', createCsv],
  ['parquet', createParquet],
])
