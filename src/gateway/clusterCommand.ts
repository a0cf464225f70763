import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Worked } from './backupCommand.ts'
import type { Done } from './lib/command.ts'
import type { NatsOptions } from './nats/natsOptions.ts'
import type { Settings } from './settings.ts'

/** The exit code of a wrong command line, as sysexits.h has it. */
const EX_USAGE = 64
/** How long a command waits for its change to be stored, ms. A cluster that elects leaders answers after some seconds. */
const PATIENCE_MS = 30_000

/** Where customers are stored, for messages. */
export const placeOf = ({ cluster, dataDir }: Settings): string =>
  cluster ? 'the cluster' : resolve(dataDir)

/**
 * Runs a command about customers in a cluster: on a copy of them in a temporary folder, which only this user can read.
 * The folder is removed at the end.
 *
 * @param run Gets the settings with the folder as `dataDir`. Its lines are printed when its changes are stored.
 */
export const onCluster =
  (settings: Settings, cluster: NatsOptions, run: (settings: Settings) => Done) =>
  async (): Promise<Worked> => {
    const folder = mkdtempSync(join(tmpdir(), 'shoptrail-'))
    try {
      // Loaded only here, so that commands without a cluster do not load its client.
      const [{ connectBroker }, { openNatsCustomers }, { CONFLICT }] = await Promise.all([
        import('./nats/broker.ts'),
        import('./nats/customers.ts'),
        import('./nats/mirror.ts'),
      ])
      const broker = await connectBroker(cluster)
      try {
        const opened = await openNatsCustomers({ broker, folder, onError: () => {} })
        try {
          const done = run({ ...settings, dataDir: folder })
          await save(opened.saved, CONFLICT)
          if (done.ok) return { code: 0, lines: done.lines }
          return { code: done.isUsage ? EX_USAGE : 1, lines: [], errors: done.lines }
        } finally {
          await opened.close()
        }
      } finally {
        await broker.close()
      }
    } catch (error) {
      return { code: 1, lines: [], errors: [(error as Error).message] }
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }

/** @throws Error if somebody else was faster, or it is not known whether the changes are stored. */
async function save(saved: () => Promise<void>, conflict: string): Promise<void> {
  const until = performance.now() + PATIENCE_MS
  for (;;) {
    try {
      await saved()
      return
    } catch (error) {
      const { name, message } = error as Error
      if (name !== 'Unavailable' || message === conflict) throw error
      if (performance.now() > until)
        throw new Error(
          'The cluster (ENGINE) does not answer in time, so it is not known whether the change is stored. Look with shoptrail customer list before you repeat it',
          { cause: error },
        )
    }
  }
}

/** Why a command about files has no use with a cluster. Undefined if it has. @param words The command and its words. */
export function refuseOnCluster(words: readonly string[]): string | undefined {
  const [command, verb] = words
  if (command === 'backup' && verb !== 'verify')
    return 'The data is in a cluster (ENGINE), and shoptrail backup copies databases of SQLite. Back up the streams with the tools of NATS: nats account backup DIR (docs/scale.md)'
  if (command === 'restore')
    return 'The data is in a cluster (ENGINE), and shoptrail restore restores databases of SQLite. Restore the streams with the tools of NATS: nats account restore DIR (docs/scale.md)'
  if (command === 'data')
    return `There is nothing to ${verb} with a cluster (ENGINE): DATA_DIR has only copies of what the cluster has. To have them made again, stop the gateway and delete the folder`
  return undefined
}
