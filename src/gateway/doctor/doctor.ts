import { statSync } from 'node:fs'
import type { NatsOptions } from '../nats/natsOptions.ts'
import { type Asked, askDoctor } from './askDoctor.ts'
import { checkDatabases } from './checkDatabases.ts'
import { checkDisk } from './checkDisk.ts'
import { checkFileSystem } from './checkFileSystem.ts'
import { checkFolder } from './checkFolder.ts'
import { checkClock, checkDescriptors, checkMemory, checkVersions } from './checkMachine.ts'
import { checkFree, checkPort, localAddress } from './checkPorts.ts'
import { checkDate, checkProxy, checkPublicUrl, isOtherGateway } from './checkPublicUrl.ts'
import { checkSpace } from './checkSpace.ts'
import { type DoctorFinding, note } from './finding.ts'
import { createList } from './findingList.ts'
import { leaveNonce } from './nonce.ts'
import type { ProbedDatabase } from './probe.ts'

/** Further questions to PUBLIC_URL until the gateway of the folder answers, with a balancer in front of several. */
const BALANCED = 30

/** The settings that are checked. */
export type Checked = {
  /** An absolute path. */
  readonly dataDir: string
  /** Undefined if the engine is SQLite. */
  readonly cluster?: NatsOptions | undefined
  readonly host: string
  readonly port: number
  readonly metricsPort: number | undefined
  readonly publicUrl: string | undefined
  readonly trustedProxies: readonly string[]
  readonly maxConnections: number | undefined
  readonly maxHeaderBytes: number
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
  const { dataDir, cluster, maxConnections } = settings
  const { findings, add } = createList()
  const hasDriver = await add('versions', () => checkVersions())
  await add('memory', () => checkMemory(settings))
  await add('files', () => checkDescriptors(maxConnections))
  const mayUse = await add('folder', () => checkFolder(dataDir))
  const isThere = mayUse && statSync(dataDir, { throwIfNoEntry: false })?.isDirectory() === true
  if (isThere) {
    // With a cluster the folder has no events, or a copy of them, which is made again if it is damaged or lost.
    if (!cluster) await add('disk', () => checkDisk(dataDir))
    if (hasDriver) {
      await add('file system', () => checkFileSystem(dataDir, probeFile, cluster !== undefined))
      let events: ProbedDatabase | undefined
      if (!cluster)
        await add('databases', async () => {
          const checked = await checkDatabases(dataDir, probeFile)
          events = checked.events
          return checked.found
        })
      await add('space', () =>
        checkSpace(dataDir, events?.days ?? [], now(), settings.diskReserveBytes),
      )
      await add('clock', () => checkClock(events?.newest, now()))
    }
  }
  if (cluster) {
    // Loaded only here, so that a start without a cluster does not load its client.
    const { examineCluster } = await import('./examineCluster.ts')
    findings.push(...(await examineCluster(cluster, now)))
  }
  findings.push(...(await examineNetwork(settings, isThere, now)))
  return findings
}

/**
 * Checks the ports, PUBLIC_URL, and the proxy in front.
 *
 * @param mayWrite Whether the data folder can be written. Otherwise no gateway can show that it is the one of the
 * folder.
 */
export async function examineNetwork(
  { dataDir, cluster, host, port, metricsPort, publicUrl, trustedProxies }: Checked,
  mayWrite: boolean,
  now: () => number = Date.now,
): Promise<DoctorFinding[]> {
  const { findings, add } = createList()
  const left = mayWrite ? tryLeave(dataDir) : undefined
  const nonce = left?.nonce ?? ''
  try {
    let isRunning = false
    if (port === 0) await add('port', () => [note('PORT is 0: each start takes another free port')])
    else {
      const local: Asked = await askDoctor(localAddress(host, port), nonce)
      isRunning = local.kind === 'gateway'
      await add('port', () => checkPort(host, port, local))
    }
    if (metricsPort && !isRunning)
      await add('metrics port', async () => [
        await checkFree('METRICS_PORT', '127.0.0.1', metricsPort),
      ])
    if (publicUrl === undefined) {
      await add('public url', () => [
        note('PUBLIC_URL is not set: scripts that are inlined or evaluated do not start'),
      ])
      return findings
    }
    let asked = await askDoctor(publicUrl, nonce)
    // A balancer sends some of the questions to other gateways, which have folders of their own.
    for (let left = cluster && isRunning ? BALANCED : 0; left > 0 && isOtherGateway(asked); left--)
      asked = await askDoctor(publicUrl, nonce)
    await add('public url', () =>
      checkPublicUrl(publicUrl, asked, isRunning, cluster !== undefined),
    )
    if (asked.kind !== 'gateway') return findings
    const { seen, date } = asked
    await add('proxy', () => checkProxy(publicUrl, seen, trustedProxies))
    await add('clock', () => checkDate(date, now()))
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
