import { rmSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from '../sqlite/driver.ts'
import { error, type Found, ok, warning } from './finding.ts'
import type { ProbedLock } from './probe.ts'
import { type ProbeFailure, runProbe } from './runProbe.ts'

/** Types of file systems by their number in statfs(2), linux/magic.h. */
const NETWORK: Readonly<Record<number, string>> = {
  26985: 'NFS',
  20859: 'SMB',
  4283649346: 'SMB',
  4266872130: 'SMB',
  12805120: 'Ceph',
  16914839: '9P',
  1799439955: 'AFS',
  198183888: 'Lustre',
}
const OVERLAY = 0x794c7630
const TMPFS = 0x01021994

const TIMEOUT_MS = 20_000

/**
 * The file system of the data folder: whether it locks, and whether it keeps files.
 *
 * @param mayBeLost Whether the files need not be kept.
 */
export async function checkFileSystem(
  folder: string,
  probeFile: URL,
  mayBeLost = false,
  type = statfsSync(folder).type,
): Promise<Found[]> {
  const found: Found[] = []
  const network = NETWORK[type >>> 0]
  if (network)
    found.push(
      error(
        `${folder} is on a network file system (${network}). SQLite needs shared memory between processes, which it does not have, and its locks are often wrong`,
        'Use a disk of this machine, or a network block device with a file system of its own',
      ),
    )
  if (type >>> 0 === OVERLAY && !mayBeLost)
    found.push(
      warning(
        `${folder} is in the writable layer of a container, and is lost when the container is removed`,
        `Mount a volume there: docker run --volume shoptrail:${folder} …`,
      ),
    )
  if (type >>> 0 === TMPFS && !mayBeLost)
    found.push(
      warning(
        `${folder} is in memory (tmpfs), and is lost when the machine restarts`,
        'Set DATA_DIR to a folder on a disk',
      ),
    )
  found.push(await checkLock(folder, probeFile))
  return found
}

/** Locks a database in this process, and tries to lock it in a second one. */
async function checkLock(folder: string, probeFile: URL): Promise<Found> {
  const file = join(folder, `doctor-${process.pid}.lock-test`)
  try {
    const database = connect(file, {})
    try {
      database.exec('BEGIN EXCLUSIVE')
      return judgeLock(folder, await runProbe<ProbedLock>(probeFile, ['lock', file], TIMEOUT_MS))
    } finally {
      database.close()
    }
  } catch (failure) {
    return error(
      `${folder} can not hold a database: ${(failure as Error).message}`,
      'Check its owner, its permissions, and whether its disk is full or read-only',
    )
  } finally {
    for (const end of ['', '-journal']) rmSync(`${file}${end}`, { force: true })
  }
}

function judgeLock(folder: string, probed: ProbedLock | ProbeFailure): Found {
  if ('isLocked' in probed)
    return probed.isLocked
      ? error(
          `Locks do not work in ${folder}: two processes got the same one, so they would damage the databases`,
          'Use a disk of this machine',
        )
      : ok('A lock keeps a second process away')
  return probed.late
    ? error(
        `A lock in ${folder} was not answered in ${TIMEOUT_MS / 1_000} s`,
        'Use a disk of this machine',
      )
    : error(`Locks can not be tried in ${folder}: ${probed.failed}`, 'Use a disk of this machine')
}
