import { readFileSync, type Stats, statSync } from 'node:fs'
import { join } from 'node:path'
import { getMimeType } from 'hono/utils/mime'

/** The form of the paths that are served: no segment is empty or begins with a dot, and nothing is percent-encoded. */
const PATH = /^(?:\/[\w-][\w.-]*)*\/?$/

type Kept = {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly mtimeMs: number
  readonly size: number
}

/**
 * Serves the files of a folder from memory. A stream would need a descriptor and a block of the file for each slow
 * reader. A changed file is read again. A Range is ignored, as RFC 9110, 14.2 allows.
 *
 * @returns A function from a path below the folder to the response. Undefined if there is no such file. A folder is
 * answered with its `index.html`.
 */
export function createPublicFiles(root: string) {
  const kept = new Map<string, Kept>()

  function read(file: string, { mtimeMs, size }: Stats): Kept {
    const before = kept.get(file)
    if (before?.mtimeMs === mtimeMs && before.size === size) return before
    const now = { bytes: new Uint8Array(readFileSync(file)), mtimeMs, size }
    kept.set(file, now)
    return now
  }

  return (path: string): Response | undefined => {
    if (!PATH.test(path)) return undefined
    const found = findFile(join(root, path))
    if (!found) return undefined
    const { bytes } = read(found.file, found.stats)
    return new Response(bytes, {
      headers: {
        'content-type': getMimeType(found.file) ?? 'application/octet-stream',
        'content-length': `${bytes.length}`,
        'last-modified': found.stats.mtime.toUTCString(),
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-cache',
      },
    })
  }
}

function findFile(path: string): { readonly file: string; readonly stats: Stats } | undefined {
  try {
    const stats = statSync(path)
    if (stats.isDirectory()) return findFile(join(path, 'index.html'))
    return stats.isFile() ? { file: path, stats } : undefined
  } catch {
    // Missing, or a name that no file can have.
    return undefined
  }
}
