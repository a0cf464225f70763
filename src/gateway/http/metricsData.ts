import { readdir, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { Gauge, type Registry } from 'prom-client'

/** Files of SQLite, with their -wal and -shm. */
const DATABASE = /^[\w-]{1,40}\.db(-wal|-shm)?$/

/**
 * Adds the metrics of the data folder: sizes of its files, and the space that is left. Read at each scrape. What can
 * not be read, such as a folder that is not mounted, has no value, and the other metrics are answered.
 */
export function addDataGauges(registers: Registry[], dataDir: string): void {
  new Gauge({
    name: 'data_file_bytes',
    help: 'Size of each database file of DATA_DIR',
    labelNames: ['file'],
    registers,
    async collect() {
      const names = (await known(readdir(dataDir))) ?? []
      const files = names.filter((name) => DATABASE.test(name))
      const found = await Promise.all(files.map((file) => known(stat(join(dataDir, file)))))
      // In one step, since two answers may be made at the same time.
      this.reset()
      for (const [i, file] of files.entries()) {
        const size = found[i]?.size
        if (size !== undefined) this.set({ file }, size)
      }
    },
  })
  new Gauge({
    name: 'data_disk_free_bytes',
    help: 'Bytes that the gateway can still write to the disk of DATA_DIR. NaN if it can not be read',
    registers,
    async collect() {
      const disk = await known(statfs(dataDir))
      this.set(disk ? disk.bavail * disk.bsize : Number.NaN)
    },
  })
}

/** Undefined if it can not be read. SQLite removes some of its files at any time. */
const known = <T>(read: Promise<T>): Promise<T | undefined> => read.catch(() => undefined)
