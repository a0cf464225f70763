import { statSync } from 'node:fs'
import { type Asked, askDoctor } from './askDoctor.ts'
import { checkDatabases } from './checkDatabases.ts'
import { checkDisk } from './checkDisk.ts'
import { checkFileSystem } from './checkFileSystem.ts'
import { checkFolder } from './checkFolder.ts'
import { checkClock, checkDescriptors, checkMemory, checkVersions } from './checkMachine.ts'
import { checkFree, checkPort, localAddress } from './checkPorts.ts'
import { checkDate, checkProxy, checkPublicUrl } from './checkPublicUrl.ts'
import { checkSpace } from './checkSpace.ts'
import { type DoctorFinding, type Found, note } from './finding.ts'
import { leaveNonce } from './nonce.ts'

/** The settings that are checked. */
export type Checked = {
  /** An absolute path. */
  readonly dataDir: string
  readonly host: string
  readonly port: number
  readonly metricsPort: number | undefined
  readonly publicUrl: string | undefined
  readonly trustedProxies: readonly string[]
  readonly maxConnections: number | undefined
  readonly bodyBudgetBytes: number
  readonly diskReserveBytes: number
}

/**
 * Checks an installation. It changes nothing, needs no running gateway, and finds out more if there is one.
 *
 * @param probeFile The bundle of probe.ts.
 */
export async function examine(
  settings: Checked,
  probeFile: URL,
  now: () => number = Date.now,
): Promise<DoctorFinding[]> {
  const { dataDir, bodyBudgetBytes, maxConnections } = settings
  const { findings, add } = createList()
  const versions = checkVersions()
  const folder = checkFolder(dataDir)
  add('versions', versions)
  add('memory', checkMemory(bodyBudgetBytes))
  add('files', checkDescriptors(maxConnections))
  add('folder', folder)
  const mayUse = (found: readonly Found[]) => !found.some(({ level }) => level === 'error')
  const isThere = statSync(dataDir, { throwIfNoEntry: false })?.isDirectory() === true
  if (isThere && mayUse(folder)) {
    add('disk', checkDisk(dataDir))
    if (mayUse(versions)) {
      add('file system', await checkFileSystem(dataDir, probeFile))
      const { found, events } = await checkDatabases(dataDir, probeFile)
      add('databases', found)
      add('space', checkSpace(dataDir, events?.days ?? [], now(), settings.diskReserveBytes))
      add('clock', checkClock(events?.newest, now()))
    }
  }
  findings.push(...(await examineNetwork(settings, isThere && mayUse(folder), now)))
  return findings
}

/**
 * Checks the ports, PUBLIC_URL, and the proxy in front.
 *
 * @param mayWrite Whether the data folder can be written. Otherwise no gateway can show that it is the one of the
 * folder.
 */
export async function examineNetwork(
  { dataDir, host, port, metricsPort, publicUrl, trustedProxies }: Checked,
  mayWrite: boolean,
  now: () => number = Date.now,
): Promise<DoctorFinding[]> {
  const { findings, add } = createList()
  const left = mayWrite ? tryLeave(dataDir) : undefined
  const nonce = left?.nonce ?? ''
  try {
    let isRunning = false
    if (port === 0) add('port', [note('PORT is 0: each start takes another free port')])
    else {
      const local: Asked = await askDoctor(localAddress(host, port), nonce)
      isRunning = local.kind === 'gateway'
      add('port', await checkPort(host, port, local))
    }
    if (metricsPort && !isRunning)
      add('metrics port', [await checkFree('METRICS_PORT', '127.0.0.1', metricsPort)])
    if (publicUrl === undefined) {
      add('public url', [
        note('PUBLIC_URL is not set: scripts that are inlined or evaluated do not start'),
      ])
      return findings
    }
    const asked = await askDoctor(publicUrl, nonce)
    add('public url', checkPublicUrl(publicUrl, asked, isRunning))
    if (asked.kind !== 'gateway') return findings
    add('proxy', checkProxy(publicUrl, asked.seen, trustedProxies))
    add('clock', checkDate(asked.date, now()))
    return findings
  } finally {
    left?.remove()
  }
}

/** Undefined if the folder can not be written. Another check has reported it. */
function tryLeave(dataDir: string): ReturnType<typeof leaveNonce> | undefined {
  try {
    return leaveNonce(dataDir)
  } catch {
    return undefined
  }
}

function createList() {
  const findings: DoctorFinding[] = []
  return {
    findings,
    add: (check: string, found: readonly Found[]): void =>
      void findings.push(...found.map((one) => ({ check, ...one }))),
  }
}
