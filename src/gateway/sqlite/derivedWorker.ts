import { type DerivedFile, type DerivedTables, openDerivedTables } from './derivedTables.ts'
import { serve } from './remote.ts'

/** The names of functions that `run` carries out. */
export type DerivedName = Exclude<keyof DerivedTables, 'close'>

/** The functions of the thread. */
export type Served = {
  /** @returns The number of the opened file. */
  open(file: DerivedFile, path: string): number
  run(opened: number, name: DerivedName, args: readonly unknown[]): unknown
  shut(opened: number): void
  close(): void
}

/** The thread that reads and writes the mirrored rows of all copies, so that no lock of a file stops the gateway. */
const files = new Map<number, DerivedTables>()
let lastOpened = 0

function shut(opened: number): void {
  files.get(opened)?.close()
  files.delete(opened)
}

serve<Served>({
  open(file, path) {
    const tables = openDerivedTables(file, path)
    lastOpened++
    files.set(lastOpened, tables)
    return lastOpened
  },
  run(opened, name, args) {
    const tables = files.get(opened)
    if (!tables) throw new Error('The file is closed')
    return (tables[name] as (...args: readonly unknown[]) => unknown)(...args)
  },
  shut,
  close() {
    for (const opened of [...files.keys()]) shut(opened)
  },
})
