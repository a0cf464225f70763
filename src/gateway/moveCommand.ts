import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Worked } from './backupCommand.ts'
import { findMismatch } from './dataCommand.ts'
import { type Fault, misused } from './lib/command.ts'
import { printError } from './lib/printable.ts'
import type { MoveTerminal } from './move/runMove.ts'
import type { Settings } from './settings.ts'
import { prepareDataFolder } from './sqlite/dataFolder.ts'

/** Options of `shoptrail move`, as they were typed. */
export type MoveOptions = {
  readonly from?: string | undefined
  readonly to?: string | undefined
}

export const MOVE_OPTIONS = ['from', 'to']

/**
 * `move --from sqlite --to nats://…`: copies everything that a gateway has stored in DATA_DIR to a cluster. DATA_DIR
 * stays as it is.
 *
 * @param settings With the cluster of `--to`.
 * @param terminal Default: that of this process.
 * @returns What runs it.
 */
export function prepareMove(
  { from, to }: MoveOptions,
  { dataDir, cluster }: Settings,
  terminal?: MoveTerminal,
): Fault | (() => Promise<Worked>) {
  if (from !== 'sqlite' || !to || !cluster)
    return misused('Expected move --from sqlite --to nats://host:4222,host:4222,host:4222')
  return async () => {
    try {
      const folder = resolve(dataDir)
      if (!existsSync(folder))
        throw new Error(`There is no ${folder}. Set DATA_DIR to the folder to move`)
      prepareDataFolder(folder)
      const mismatch = findMismatch(folder)
      if (mismatch) throw new Error(mismatch)
      // Loaded only here, since every start of a gateway loads this module.
      const [{ connectBroker }, { runMove }] = await Promise.all([
        import('./nats/broker.ts'),
        import('./move/runMove.ts'),
      ])
      const broker = await connectBroker(cluster)
      try {
        return await runMove(folder, broker, terminal ?? ownTerminal())
      } finally {
        await broker.close()
      }
    } catch (error) {
      return { code: 1, lines: [], errors: [(error as Error).message] }
    }
  }
}

function ownTerminal(): MoveTerminal {
  const stop = new AbortController()
  // Once: a second Ctrl-C ends the process, and nothing is lost.
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => stop.abort(signal))
  return { report: (line) => printError([line]), signal: stop.signal }
}
