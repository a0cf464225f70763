import { totalmem } from 'node:os'
import {
  chooseMaxConnections,
  DEFAULT_MAX_CONNECTIONS,
  readDescriptorLimit,
} from '../http/descriptors.ts'
import { findDriverFault } from '../sqlite/driver.ts'
import { error, type Found, ok, warning } from './finding.ts'

/** Memory of a gateway, bytes. */
const OWN_BYTES = 100 * 2 ** 20
/** Memory that a connection with a head takes, as a multiple of the head. */
const HEAD_FACTOR = 1.4

/** The settings that bound the memory. */
type Bounds = {
  readonly maxConnections: number | undefined
  readonly maxHeaderBytes: number
  readonly bodyBudgetBytes: number
}

/** Node, better-sqlite3, the files that a process may open, and memory. */
export function checkVersions(version = process.versions.node): Found[] {
  const driver = findDriverFault()
  const [message = '', ...fix] = driver?.split('\n').filter(Boolean) ?? []
  return [
    Number.parseInt(version, 10) >= 20
      ? ok(`Node ${version}`)
      : error(`Node ${version} is too old`, 'Install Node 20 or a newer one'),
    driver === undefined ? ok('better-sqlite3 works') : error(message, ...fix),
  ]
}

export function checkDescriptors(
  wanted: number | undefined,
  limit = readDescriptorLimit(),
): Found[] {
  try {
    const most = chooseMaxConnections(wanted, limit)
    return most < (wanted ?? DEFAULT_MAX_CONNECTIONS)
      ? [
          warning(
            `This user may open only ${limit} files, so the gateway takes only ${most} connections`,
            'Allow more: LimitNOFILE=65536 in the unit of systemd, or ulimit -n 65536',
          ),
        ]
      : [
          ok(
            `${most} connections, and ${Number.isFinite(limit) ? limit : 'any number of'} files may be open`,
          ),
        ]
  } catch (failure) {
    const [message = '', ...fix] = (failure as Error).message.split(/(?<=purposes\.) /)
    return [error(message, ...fix)]
  }
}

/** @param available Memory of the machine, or of the container if that is less, bytes. */
export function checkMemory(
  { maxConnections = DEFAULT_MAX_CONNECTIONS, maxHeaderBytes, bodyBudgetBytes }: Bounds,
  available = memoryBytes(),
): Found[] {
  const needed = OWN_BYTES + HEAD_FACTOR * maxConnections * maxHeaderBytes + bodyBudgetBytes
  const [have, need] = [available, needed].map((bytes) => Math.round(bytes / 2 ** 20))
  const message = `${have} MiB of memory. The gateway takes about 100 MiB, and up to ${need} MiB under attack`
  if (available < needed / 2)
    return [error(message, 'Give the machine or the container more memory')]
  return available < needed
    ? [
        warning(
          message,
          'Give it more memory, or lower MAX_CONNECTIONS, MAX_HEADER_BYTES and BODY_BUDGET_BYTES',
        ),
      ]
    : [ok(message)]
}

/** 0 or a huge number of `constrainedMemory` means no limit of a container. */
function memoryBytes(): number {
  const total = totalmem()
  const constrained = process.constrainedMemory?.() ?? 0
  return constrained > 0 && constrained < total ? constrained : total
}

/**
 * The clock, against the newest stored event: a hint, since an earlier clock may have been the wrong one.
 *
 * @param newest When it arrived, ms since 1970.
 */
export function checkClock(newest: number | undefined, now: number): Found[] {
  if (newest === undefined || newest <= now + 60_000)
    return [ok(`The clock says ${new Date(now).toISOString()}`)]
  return [
    warning(
      `The newest stored event is from ${new Date(newest).toISOString()}, later than the clock says now (${new Date(now).toISOString()}). The clock is wrong, or was wrong then`,
      'Let the machine keep its time by NTP: timedatectl set-ntp true',
    ),
  ]
}
