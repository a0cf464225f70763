import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

/** A larger file is not one of settings. */
export const MAX_BYTES = 65_536
/** Bits of a file's mode: other users may read it, and may change it. */
const OTHERS_READ = 0o004
const OTHERS_WRITE = 0o002

/**
 * A line that `util.parseEnv` of Node, systemd's `EnvironmentFile=` and `docker --env-file` read alike, if it has no
 * quotes. They differ about `#` after a value, backslashes, tabs, and text after a closing quote, so these are refused:
 * half of a secret would be a different secret.
 */
const LINE =
  /^ *([A-Za-z_]\w*) *= *(?:"([^"`\\\p{Cc}]*)"|'([^'`\\\p{Cc}]*)'|([^"'`#\\\p{Cc}]*?)) *$/u
const COMMENT = /^\s*(?:[#;].*)?$/

/** A value with its place. */
export type FileValue = { readonly text: string; readonly line: number }

export type SettingsFile = {
  readonly values: ReadonlyMap<string, FileValue>
  /** Lines that are not settings, with what to write instead. */
  readonly faults: readonly { readonly line: number; readonly message: string }[]
  readonly othersRead: boolean
  readonly othersWrite: boolean
}

/**
 * Reads a settings file: UTF-8, `NAME=VALUE` lines, empty lines, and comments after `#` or `;`. A value may be in
 * quotes. At most 64 KiB.
 *
 * @throws Error with one sentence, if it can not be read.
 */
export function readSettingsFile(path: string): SettingsFile {
  const { text, mode } = readText(path)
  const values = new Map<string, FileValue>()
  const faults: { line: number; message: string }[] = []
  for (const [index, written] of text.split(/\r?\n/).entries()) {
    const line = index + 1
    if (COMMENT.test(written)) continue
    const [matched, name = '', double, single, plain] = LINE.exec(written) ?? []
    const earlier = values.get(name)
    if (matched === undefined)
      faults.push({
        line,
        message:
          'Expected NAME=VALUE. A value with # must be in quotes; a comment needs a line of its own',
      })
    else if (earlier)
      faults.push({
        line,
        message: `${name} is already in line ${earlier.line}. Remove one of them`,
      })
    else values.set(name, { text: double ?? single ?? plain ?? '', line })
  }
  // Windows has no such bits.
  const others = process.platform === 'win32' ? 0 : mode
  return {
    values,
    faults,
    othersRead: (others & OTHERS_READ) !== 0,
    othersWrite: (others & OTHERS_WRITE) !== 0,
  }
}

function readText(path: string): { readonly text: string; readonly mode: number } {
  let file: number | undefined
  try {
    file = openSync(path, 'r')
    // Not readFile: a pipe, such as the output of a command that decrypts the settings, has no size and no end.
    const buffer = Buffer.alloc(MAX_BYTES + 1)
    let size = 0
    for (let read = -1; read !== 0 && size < buffer.length; size += read)
      read = readSync(file, buffer, size, buffer.length - size, null)
    if (size > MAX_BYTES)
      throw new Error(`The settings file ${path} is larger than ${MAX_BYTES} bytes.`)
    const text = new TextDecoder('utf-8', { fatal: true }).decode(buffer.subarray(0, size))
    const stat = fstatSync(file)
    return { text, mode: stat.isFile() ? stat.mode : 0 }
  } catch (error) {
    throw explain(path, error as NodeJS.ErrnoException)
  } finally {
    if (file !== undefined) closeSync(file)
  }
}

function explain(path: string, error: NodeJS.ErrnoException): Error {
  if (error.code === 'ENOENT') return new Error(`The settings file ${path} does not exist.`)
  if (error.code === 'EACCES')
    return new Error(`The settings file ${path} can not be read by this user.`)
  if (error.code === 'EISDIR') return new Error(`The settings file ${path} is a folder.`)
  if (error.code === 'ERR_ENCODING_INVALID_ENCODED_DATA')
    return new Error(`The settings file ${path} is not UTF-8 text.`)
  return error.code ? new Error(`The settings file ${path}: ${error.message}`) : error
}
