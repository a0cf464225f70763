import { existsSync } from 'node:fs'
import { type ForwardStore, openForwardStore } from './forwardStore.ts'
import { openReportStore, type ReportStore } from './reportStore.ts'

/** The files in which a person's data is. */
export type PersonFiles = {
  readonly eventsFile: string
  /** May be missing: then there are no reports yet. */
  readonly reportsFile: string
  /** May be missing: then there are no destinations. Default: there are none. */
  readonly forwardFile?: string
}

/** Work in steps of a few hundredths of a second. Yields how long to pause after each step, ms. */
export type Steps<Result> = Generator<number, Result>

/** The files with what was derived from the events, as far as they are there. */
export type Derived = {
  readonly reports: ReportStore | undefined
  readonly forward: ForwardStore | undefined
}

/** Time between two tries to empty the -wal, ms, and how many there are. */
const RETRY_MS = 20
const MAX_TRIES = 1_000

/** A missing file is not opened, since that would create it. */
export const openDerived = (files: PersonFiles): Derived => ({
  reports: existsSync(files.reportsFile) ? openReportStore(files) : undefined,
  forward:
    files.forwardFile !== undefined && existsSync(files.forwardFile)
      ? openForwardStore(files.forwardFile)
      : undefined,
})

export function closeDerived({ reports, forward }: Derived): void {
  reports?.close()
  forward?.close()
}

/** Overwrites what was deleted. Throws if another process reads the files all the time. */
export function* clearDerived({ reports, forward }: Derived): Steps<void> {
  if (reports) yield* clearWals(reports.clearWal)
  if (forward) yield* clearWals(forward.overwrite)
}

/** Empties a -wal between the reads and writes of others. */
export function* clearWals(clearWal: () => boolean): Steps<void> {
  for (let tries = 1; !clearWal(); tries++) {
    if (tries === MAX_TRIES)
      throw new Error('The files are read all the time, so old pages stay in them. Erase again')
    yield RETRY_MS
  }
}
