import {
  chmodSync,
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'

/** Free space that a copy leaves on the disk, bytes. */
const SPARE_BYTES = 64 * 2 ** 20

/** Makes what was written to a file or a folder durable. The file must not be open as a database (files.ts). */
export function syncPath(path: string): void {
  const isFolder = statSync(path).isDirectory()
  // Windows has no such call for folders, and for files it needs the right to write.
  if (isFolder && process.platform === 'win32') return
  const descriptor = openSync(path, isFolder ? 'r' : 'r+')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** Creates a folder that only its owner can read, whatever the umask is. Its parents must exist. */
export function makePrivateFolder(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 })
    chmodSync(folder, 0o700)
    syncPath(dirname(folder))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

/** Writes a small file so that it is there as a whole or not at all. */
export function writeWhole(file: string, text: string): void {
  const part = `${file}.part`
  writeFileSync(part, text, { mode: 0o600, flush: true })
  chmodSync(part, 0o600)
  renameSync(part, file)
  syncPath(dirname(file))
}

/** The size of a file, bytes. 0 if it is missing. */
export const sizeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0

/** @throws Error with a remedy, if the disk of a folder has less room than `bytes`. */
export function refuseTooLarge(folder: string, bytes: number, remedy: string): void {
  const { bavail, bsize } = statfsSync(folder)
  const left = bavail * bsize
  const needed = bytes + SPARE_BYTES
  if (left < needed)
    throw new Error(
      `${folder} has ${inMiB(left)} left, and the copy needs ${inMiB(needed)}. ${remedy}`,
    )
}

const inMiB = (bytes: number): string => `${Math.ceil(bytes / 2 ** 20).toLocaleString('en')} MiB`

/** Whether a folder is missing or empty. */
export function isEmptyFolder(folder: string): boolean {
  const stats = statSync(folder, { throwIfNoEntry: false })
  return !stats || (stats.isDirectory() && readdirSync(folder).length === 0)
}

/** A moment in the name of a file: `2026-11-29T030500.123Z`. */
export const stampOf = (now: number): string => new Date(now).toISOString().replaceAll(':', '')
