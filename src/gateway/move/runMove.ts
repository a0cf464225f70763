import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { errors } from '@nats-io/transport-node'
import type { Broker } from '../nats/broker.ts'
import { makePrivateFolder } from '../sqlite/backup/durable.ts'
import { compare } from './compare.ts'
import { moveCampaigns } from './moveCampaigns.ts'
import { moveCounts } from './moveCounts.ts'
import { moveCustomers } from './moveCustomers.ts'
import { moveDerived } from './moveDerived.ts'
import { type Moved, moveEvents } from './moveEvents.ts'
import { EVERYTHING, type MoveState, openMoveState, STATE } from './moveState.ts'
import { openMoveSource } from './source.ts'
import { createMoveTarget, type MoveTarget } from './target.ts'

/** The process of the command. */
export type MoveTerminal = {
  /** Prints a line about how far it is. */
  readonly report: (line: string) => void
  /** Ends the move; the same command continues it. */
  readonly signal: AbortSignal
}

/** What the command prints, and its exit code. */
export type MoveResult = {
  readonly code: number
  readonly lines: readonly string[]
  readonly errors: readonly string[]
}

/** Local copies of what the cluster has, while a move runs. */
const WORK = 'moving'

/** Exit code after Ctrl-C, as shells have it. */
const INTERRUPTED = 130
/** Time between two lines about how far it is, ms. */
const REPORT_MS = 5_000

/**
 * Copies everything in a data folder to a cluster, step by step, and counts both sides.
 *
 * @throws Error if a gateway has the folder open, or the cluster has other data.
 */
export async function runMove(
  folder: string,
  broker: Broker,
  { report, signal }: MoveTerminal,
): Promise<MoveResult> {
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
  } catch (error) {
    if (error instanceof errors.TimeoutError)
      throw new Error('The cluster did not answer in time. Repeat the command to continue', {
        cause: error,
      })
    throw error
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
