import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** The lines of a file of events as a warehouse reads them. */
export const readDayFile = (path: string): Record<string, unknown>[] =>
  execFileSync('zcat', ['-f'], { input: readFileSync(path) })
    .toString()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))

/** The numbers of the events in a file, which makeForwardEvent has put into their ids. */
export const readSeqs = (path: string): number[] =>
  readDayFile(path).map(({ id }) => Number(String(id).slice(24)))
