import { statfsSync } from 'node:fs'
import { type DiskSpace, LOW_RESERVES, reserveOf } from '../sqlite/disk.ts'
import { error, type Found, ok, warning } from './finding.ts'
import type { ProbedDatabase } from './probe.ts'

const DAY_MS = 86_400_000
const MIB = 2 ** 20
/** Below this the disk is nearly full. */
const FEW_DAYS = 7
/** Above this the rate is too small to count days. */
const MANY_DAYS = 3650
/** A payload with its columns and indexes takes this many times its own length: 1.9 for payloads of 320 bytes. */
const STORED_FACTOR = 2

/**
 * The space that is left, and how many days it lasts.
 *
 * @param days What was stored on each of the last days, of events.db.
 * @param now ms since 1970.
 * @param reserveBytes DISK_RESERVE_BYTES.
 */
export function checkSpace(
  folder: string,
  days: ProbedDatabase['days'],
  now: number,
  reserveBytes: number,
  space: DiskSpace = readSpace(folder),
): Found[] {
  const { left: free, size } = space
  const reserve = reserveOf(reserveBytes, size)
  const perDay = STORED_FACTOR * bytesPerDay(days, now)
  const left = perDay > 0 ? Math.max(free - reserve, 0) / perDay : Number.POSITIVE_INFINITY
  const shown =
    free >= 2 ** 30 ? `${(free / 2 ** 30).toFixed(1)} GiB` : `${Math.floor(free / MIB)} MiB`
  const lasts =
    perDay > 0
      ? `, which lasts ${describeDays(left)} at the present rate of ${(perDay / MIB).toFixed(1)} MiB a day`
      : ''
  const message = `${shown} are free in ${folder}${lasts}`
  const fix = [
    'Enlarge the disk, or keep events for fewer days: npx shoptrail customer set ID --retention-days 90',
  ]
  if (free < reserve || free === 0)
    return [
      error(
        `The disk is full, and events are answered 503 (DISK_RESERVE_BYTES). ${message}`,
        ...fix,
      ),
    ]
  if (free < reserve * LOW_RESERVES || left < FEW_DAYS) return [warning(message, ...fix)]
  return [ok(message)]
}

/** Of the busiest of the days. Today counts as a whole day at its rate so far, if some hours of it are over. */
function bytesPerDay(days: ProbedDatabase['days'], now: number): number {
  const today = Math.floor(now / DAY_MS)
  const share = (now % DAY_MS) / DAY_MS
  return Math.max(
    0,
    ...days.map(({ day, bytes }) =>
      day === today && share > 0.1 ? bytes / share : day <= today ? bytes : 0,
    ),
  )
}

function readSpace(folder: string): DiskSpace {
  const { bavail, blocks, bsize } = statfsSync(folder)
  return { left: bavail * bsize, size: blocks * bsize }
}

function describeDays(days: number): string {
  if (days < 1) return 'less than a day'
  return days > MANY_DAYS ? 'more than 10 years' : `about ${Math.floor(days)} days`
}
