import { execFileSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs'
import { join } from 'node:path'

/** A small disk that can be filled. */
export type SmallDisk = {
  readonly folder: string
  /** Fills it to the last block. */
  fill(): void
  /** Removes what has filled it. */
  free(): void
  remove(): void
}

/**
 * Mounts a file system of its own in memory.
 *
 * @param bytes Its size.
 * @returns undefined if this process may not mount one.
 */
export function mountDisk(folder: string, bytes: number): SmallDisk | undefined {
  mkdirSync(folder, { recursive: true })
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes},mode=700`, 'none', folder], {
      stdio: 'ignore',
    })
  } catch {
    return undefined
  }
  const filler = join(folder, 'filler')
  return {
    folder,
    fill() {
      const file = openSync(filler, 'w')
      const block = Buffer.alloc(2 ** 20)
      try {
        for (let size = block.length; size >= 512; size /= 2) {
          try {
            for (;;) writeSync(file, block, 0, size)
          } catch (error) {
            if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
          }
        }
      } finally {
        closeSync(file)
      }
    },
    free: () => rmSync(filler, { force: true }),
    remove() {
      execFileSync('umount', ['-l', folder])
    },
  }
}

export function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}
