import { closeSync, fsyncSync, ftruncateSync, openSync, statSync, writeSync } from 'node:fs'
import { finished } from 'node:stream/promises'
import { makeFile } from '../sqlite/files.ts'

/** Where the bytes of an export go. */
export type Sink = {
  /** Resolves when the bytes are taken. */
  write(bytes: Uint8Array): Promise<void>
  /** Makes what was written durable. */
  sync(): void
  close(): void
}

/**
 * A file that only its owner can read, since events contain personal data.
 *
 * @param bytes Size of what is kept of it. The rest is from a write that was broken off.
 * @throws Error if it is smaller.
 */
export function openFileSink(file: string, bytes: number): Sink {
  makeFile(file)
  if (statSync(file).size < bytes)
    throw new Error(
      `${file} is smaller than when the export was interrupted. Remove it and ${positionFileOf(file)} to begin anew`,
    )
  const descriptor = openSync(file, 'r+')
  ftruncateSync(descriptor, bytes)
  let size = bytes
  return {
    async write(chunk) {
      for (let done = 0; done < chunk.length; ) {
        const written = writeSync(descriptor, chunk, done, chunk.length - done, size)
        done += written
        size += written
      }
    },
    sync: () => fsyncSync(descriptor),
    close: () => closeSync(descriptor),
  }
}

/** The file with the state of an export, beside its unfinished output. */
export const positionFileOf = (part: string): string => part.replace(/part$/, 'position')

/** A stream, such as stdout. A write waits until the reader has taken it. */
export function createStreamSink(stream: NodeJS.WritableStream): Sink {
  const broken = finished(stream, { readable: false })
  broken.catch(() => {})
  return {
    write: (bytes) =>
      Promise.race([new Promise<void>((resolve) => stream.write(bytes, () => resolve())), broken]),
    sync() {},
    close() {},
  }
}
