import { existsSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Worked } from './backupCommand.ts'
import { findMismatch } from './dataCommand.ts'
import { type Fault, misused } from './lib/command.ts'
import { printError } from './lib/printable.ts'
import { compare } from './move/compare.ts'
import { moveCampaigns } from './move/moveCampaigns.ts'
import { moveCounts } from './move/moveCounts.ts'
import { moveCustomers } from './move/moveCustomers.ts'
import { moveDerived } from './move/moveDerived.ts'
import { type Moved, moveEvents } from './move/moveEvents.ts'
import { EVERYTHING, type MoveState, openMoveState, STATE } from './move/moveState.ts'
import { openMoveSource } from './move/source.ts'
import { createMoveTarget, type MoveTarget } from './move/target.ts'
import { type Broker, connectBroker } from './nats/broker.ts'
import type { Settings } from './settings.ts'
import { makePrivateFolder } from './sqlite/backup/durable.ts'
import { prepareDataFolder } from './sqlite/dataFolder.ts'

/** Options of `shoptrail move`, as they were typed. */
export type MoveOptions = {
  readonly from?: string | undefined
  readonly to?: string | undefined
}

export const MOVE_OPTIONS = ['from', 'to']

/** The process of the command. */
export type MoveTerminal = {
  /** Prints a line about how far it is. */
  readonly report: (line: string) => void
  /** Ends the move; the same command continues it. */
  readonly signal: AbortSignal
}

/** Local copies of what the cluster has, while a move runs. */
const WORK = 'moving'

/** Exit code after Ctrl-C, as shells have it. */
const INTERRUPTED = 130
/** Time between two lines about how far it is, ms. */
const REPORT_MS = 5_000

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
      const broker = await connectBroker(cluster)
      try {
        return await moveTo(folder, broker, terminal ?? ownTerminal())
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

async function moveTo(folder: string, broker: Broker, terminal: MoveTerminal): Promise<Worked> {
  const { report, signal } = terminal
  const source = openMoveSource(folder)
  const state = openMoveState(join(folder, STATE))
  const work = join(folder, WORK)
  let target: MoveTarget | undefined
  try {
    target = await createMoveTarget(broker)
    await begin(state, target)
    // What the last process has left there may be of another time.
    rmSync(work, { recursive: true, force: true })
    makePrivateFolder(work)
    const isMoved = state.isDone(EVERYTHING)
    if (isMoved) report('Everything was moved before. What gateways have changed since stays.')
    else {
      report('Customers, keys, settings, pinned scripts …')
      await moveCustomers(source, broker, work)
      report('Campaigns …')
      await moveCampaigns(source, broker, signal)
    }
    report('Events …')
    const moved = await moveEvents(source, target, state, signal, reportEach(report))
    if (signal.aborted)
      return { code: INTERRUPTED, lines: [], errors: ['Interrupted. The same command continues.'] }
    if (!isMoved) {
      report('Destinations, dead letters, closed figures, proofs …')
      await moveDerived(source, target, state, work)
      report('Counts of problems …')
      await moveCounts(source, target, state)
      state.note(EVERYTHING)
    }
    const { lines, isSame } = await compare(source, target)
    return {
      code: isSame ? 0 : 1,
      lines: [...lines, ...(moved.events > 0 ? [rateOf(moved)] : [])],
      errors: isSame
        ? []
        : [
            'The counts differ. If a gateway has already stored events in the cluster, or has removed some here since, that is why.',
          ],
    }
  } finally {
    rmSync(work, { recursive: true, force: true })
    await target?.close()
    state.close()
    source.close()
  }
}

/** @throws Error if the cluster has other data. */
async function begin(state: MoveState, target: MoveTarget): Promise<void> {
  const layout = state.layout()
  if (layout === target.broker.id) return
  if (layout !== undefined)
    throw new Error(
      `DATA_DIR was moved to another cluster, or in part. To move it to this one too, remove ${STATE} in it`,
    )
  const counts = [await target.eventCounts(), await target.campaignCounts()]
  if ((await target.customerCount()) > 0 || counts.some(({ size }) => size > 0))
    throw new Error(
      'The cluster has data already. Nothing is mixed: use an empty NATS account. A move that was begun is continued with the DATA_DIR of its beginning',
    )
  state.begin(target.broker.id)
}

function reportEach(report: (line: string) => void): (moved: Moved) => void {
  let last = performance.now()
  return (moved) => {
    if (performance.now() - last < REPORT_MS) return
    last = performance.now()
    report(rateOf(moved))
  }
}

const rateOf = ({ events, seconds }: Moved): string =>
  `${events.toLocaleString('en')} events in ${Math.ceil(seconds).toLocaleString('en')} s, ${Math.round(events / Math.max(seconds, 0.001)).toLocaleString('en')} a second`
