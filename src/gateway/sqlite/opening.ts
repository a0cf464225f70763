import { setTimeout as delay } from 'node:timers/promises'
import { EngineAway } from '../engine/engineAway.ts'
import { InUse } from './backup/locks.ts'
import { isDiskFull } from './database.ts'
import { DataMismatch } from './databasePair.ts'

/** Time between two tries, ms. */
const RETRY_MS = 1_000

const DISK_FULL = 'The disk of the gateway is full. It continues when there is room'
const OPENING = 'The data is being opened'
const UNEXPECTED = 'The data can not be opened. The log of the gateway has the reason'

/** Something that is open, or is waiting to be opened. */
export type Opening<Opened> = {
  /** Undefined while it is waiting. */
  opened(): Opened | undefined
  /** Why it is waiting. Contains no path, since strangers can read it. */
  reason(): string
  /** Stops trying. Resolves with what is open, if anything. */
  stop(): Promise<Opened | undefined>
}

/**
 * Opens everything that depends on the databases. After a DataMismatch, InUse or EngineAway, and on a full disk, it
 * tries again every second, so the gateway needs no restart once the databases are put back or accepted, the other
 * process has ended, the cluster is there, or there is room.
 *
 * @param onChange Called when a later try has succeeded.
 * @param onError Called when a later try fails with a new error other than these, and with each new EngineAway. Its
 * message may contain paths, so `reason` does not repeat it.
 * @param patienceMs How long the first try may take before the gateway listens. Default: as long as it takes.
 * @throws The error of the first `open`, unless it is one of these.
 */
export async function openOrWait<Opened>(
  open: () => Promise<Opened>,
  onChange: () => void,
  onError: (error: Error) => void,
  patienceMs?: number,
): Promise<Opening<Opened>> {
  let opened: Opened | undefined
  let reason = ''
  let reported = ''
  let isStopped = false
  let timer: NodeJS.Timeout | undefined
  let trying: Promise<void> | undefined

  try {
    const first = open()
    if (patienceMs === undefined) opened = await first
    else {
      const timer = new AbortController()
      const late = delay(patienceMs, true, { signal: timer.signal }).catch(() => true)
      const isLate = await Promise.race([first.then(() => false), late])
      timer.abort()
      if (isLate) {
        reason = OPENING
        trying = settle(first)
      } else opened = await first
    }
  } catch (error) {
    if (reasonToWait(error) === undefined) throw error
    wait(error as Error)
  }

  function wait(error: Error): void {
    const expected = reasonToWait(error)
    reason = expected ?? UNEXPECTED
    const isNews = expected === undefined || error instanceof EngineAway
    if (isNews && error.message !== reported) onError(error)
    reported = error.message
    timer = setTimeout(() => {
      trying = settle(open())
    }, RETRY_MS)
  }

  async function settle(opening: Promise<Opened>): Promise<void> {
    try {
      opened = await opening
      onChange()
    } catch (error) {
      // Any error may be temporary here, such as a file that is still being copied.
      if (!isStopped) wait(error as Error)
    }
  }

  return {
    opened: () => opened,
    reason: () => reason,
    async stop() {
      isStopped = true
      clearTimeout(timer)
      await trying
      return opened
    },
  }
}

/** Undefined for an error that needs an operator, and a new start. */
function reasonToWait(error: unknown): string | undefined {
  if (error instanceof DataMismatch || error instanceof InUse) return error.message
  if (error instanceof EngineAway) return error.reason
  return isDiskFull(error) ? DISK_FULL : undefined
}
