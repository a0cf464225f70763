import type { ObjectStore } from '@nats-io/obj'

/** The content of campaigns in an object store. Every function rejects with the errors of the client. */
export type ContentStore = {
  write(name: string, content: Uint8Array): Promise<void>
  /** Undefined if there is none with this name. */
  read(name: string, bytes: number): Promise<Uint8Array | undefined>
  remove(name: string): Promise<void>
}

/** @param readMs How long a reading may take, ms. */
export function createContentStore(store: ObjectStore, readMs: number): ContentStore {
  return {
    async write(name, content) {
      await store.putBlob({ name }, content)
    },
    async read(name, bytes) {
      const found = await store.get(name)
      if (!found) return undefined
      // The reader below rejects too.
      found.error.catch(() => {})
      const reader = found.data.getReader()
      // A node that ends while it sends is noticed after half a minute. The reading then ends without its last chunks.
      const timer = setTimeout(() => reader.cancel().catch(() => {}), readMs)
      try {
        const chunks: Uint8Array[] = []
        let read = 0
        for (;;) {
          const { done, value } = await reader.read()
          if (done) break
          chunks.push(value)
          read += value.length
        }
        if (read !== bytes) throw new Error(`${name} has ${bytes} bytes, and ${read} were read`)
        return Buffer.concat(chunks)
      } finally {
        clearTimeout(timer)
      }
    },
    async remove(name) {
      await store.delete(name)
    },
  }
}
