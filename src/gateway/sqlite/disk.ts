import { statfs } from 'node:fs/promises'
import { Unavailable } from '../lib/unavailable.ts'
import type { SqliteThread } from './thread.ts'

/** Free space that events do not use, bytes. */
export const DEFAULT_RESERVE_BYTES = 512 * 2 ** 20
/** The reserve is at most this part of the disk, so that small disks can be used. */
const MAX_RESERVE = 1 / 10
/** The disk counts as low below this many reserves. */
export const LOW_RESERVES = 4
/** Space that must be freed above a bound before the state changes back, so that it does not flap. */
const HYSTERESIS = 1.1
/** Time between two checks, ms. The fastest senders store some MiB in it. */
const CHECK_MS = 1_000
/** Retry-After, seconds. */
const RETRY_SECONDS = 30

/** `low`: events are stored, but not for long. `full`: only the reserve is left. */
export type DiskState = 'ample' | 'low' | 'full'

/** The free space of a disk and its size, bytes. */
export type DiskSpace = { readonly left: number; readonly size: number }

/** Watches the free space of a disk. */
export type Disk = {
  state(): DiskState
  stop(): void
}

export type DiskOptions = {
  /** A folder on the disk. */
  readonly folder: string
  /** Free space that events do not use, bytes. 0 is none: then events are stored until SQLite fails. */
  readonly reserveBytes: number
  /** Called with each new state, also with the first one unless it is `ample`. */
  readonly onChange: (state: DiskState, space: DiskSpace & { readonly reserve: number }) => void
  /** Default: that of the disk. */
  readonly read?: (folder: string) => Promise<DiskSpace>
}

const readSpace = async (folder: string): Promise<DiskSpace> => {
  const { bavail, blocks, bsize } = await statfs(folder)
  return { left: bavail * bsize, size: blocks * bsize }
}

/** The reserve on a disk of this size, bytes. */
export const reserveOf = (wanted: number, size: number): number =>
  Math.min(wanted, size * MAX_RESERVE)

/** Checks the disk once before it returns, and then every second. A disk that can not be read keeps its state. */
export async function watchDisk(options: DiskOptions): Promise<Disk> {
  const { folder, reserveBytes, onChange, read = readSpace } = options
  let state: DiskState = 'ample'
  let isStopped = false
  let timer: NodeJS.Timeout | undefined

  async function check(): Promise<void> {
    const space = await read(folder).catch(() => undefined)
    if (space && !isStopped) decide(space)
    // After the answer, so that checks of a disk that hangs do not pile up.
    if (!isStopped) timer = setTimeout(check, CHECK_MS).unref()
  }

  function decide(space: DiskSpace): void {
    const reserve = reserveOf(reserveBytes, space.size)
    const next = stateOf(space.left, reserve)
    if (next === state) return
    state = next
    onChange(state, { ...space, reserve })
  }

  function stateOf(left: number, reserve: number): DiskState {
    const isBelow = (bound: number, was: boolean) => left < bound * (was ? HYSTERESIS : 1)
    if (isBelow(reserve, state === 'full')) return 'full'
    return isBelow(reserve * LOW_RESERVES, state !== 'ample') ? 'low' : 'ample'
  }

  await check()
  return {
    state: () => state,
    stop() {
      isStopped = true
      clearTimeout(timer)
    },
  }
}

/** The calls that make the files grow at the pace of senders. Removal, closing of reports and reads go on. */
const STORING: ReadonlySet<string> = new Set(['append', 'createCampaign', 'writeCounts'])

/**
 * The same thread, which stores nothing while only the reserve of the disk is left. So there is room for what is needed
 * to get space back: a checkpoint of the -wal, the removal of events, the list of customers.
 */
export const keepReserve = (thread: SqliteThread, disk: Pick<Disk, 'state'>): SqliteThread => ({
  call: (name, ...args) =>
    STORING.has(name) && disk.state() === 'full'
      ? Promise.reject(new Unavailable('The disk of the gateway is full', RETRY_SECONDS))
      : thread.call(name, ...args),
  fault: () =>
    thread.fault() ??
    (disk.state() === 'full'
      ? 'the disk is full: only the reserve is left (DISK_RESERVE_BYTES)'
      : undefined),
  close: thread.close,
})
