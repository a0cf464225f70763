import { createHash } from 'node:crypto'
import { createReadStream, readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  array,
  integer,
  literal,
  minValue,
  nullable,
  number,
  object,
  picklist,
  pipe,
  regex,
  safeParse,
  string,
} from 'valibot'
import { DATABASES } from '../databases.ts'
import { writeWhole } from './durable.ts'

/** The file that makes a folder a backup. It is written last. */
export const MANIFEST = 'backup.json'

const count = pipe(number(), integer(), minValue(0))
const schema = object({
  format: literal(1, 'It was made by a newer version of shoptrail'),
  /** Version of shoptrail that has made it. */
  shoptrail: string(),
  /** When it was begun, ISO 8601. Everything that was acknowledged before is in it. */
  at: string(),
  /** The position of the log: that of its last event. Null if events.db is not in the backup. */
  position: nullable(count),
  files: array(
    object({
      name: picklist(DATABASES.map(({ name }) => name)),
      bytes: count,
      sha256: pipe(string(), regex(/^[0-9a-f]{64}$/)),
      /** Version of the schema. */
      schema: count,
    }),
  ),
})

/** What a backup has. */
export type Manifest = {
  readonly format: 1
  readonly shoptrail: string
  readonly at: string
  readonly position: number | null
  readonly files: readonly BackupFile[]
}

/** A database in a backup. */
export type BackupFile = {
  readonly name: string
  readonly bytes: number
  readonly sha256: string
  readonly schema: number
}

export const writeManifest = (folder: string, manifest: Manifest): void =>
  writeWhole(join(folder, MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`)

/** @throws Error that names the folder, if it is not a backup. */
export function readManifest(folder: string): Manifest {
  const parsed = safeParse(schema, readJson(folder))
  if (!parsed.success) {
    const { path, message } = parsed.issues[0]
    const where = path?.map(({ key }) => String(key)).join('.')
    throw new Error(`${join(folder, MANIFEST)} is damaged: ${where ? `${where}: ` : ''}${message}`)
  }
  return parsed.output
}

function readJson(folder: string): unknown {
  const file = join(folder, MANIFEST)
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    if (error instanceof SyntaxError) throw new Error(`${file} is damaged: it is not JSON`)
    throw new Error(
      `${folder} is not a backup, or one that was broken off: it has no ${MANIFEST} that can be read (${(error as NodeJS.ErrnoException).code})`,
      { cause: error },
    )
  }
}

/** SHA-256 of a file, hex. */
export async function hashFile(file: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(file, { highWaterMark: 2 ** 20 })) hash.update(chunk)
  return hash.digest('hex')
}
