import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, inject, test } from 'vitest'
import { findPort } from '../../test/findPort.ts'
import { takeAccount } from '../../test/sharedCluster.ts'
import { serveAnswers } from '../nats/ask.ts'
import { connectBroker } from '../nats/broker.ts'
import { streamOf } from '../nats/names.ts'
import type { NatsOptions } from '../nats/natsOptions.ts'
import { examine } from './doctor.ts'
import { examineCluster } from './examineCluster.ts'

async function linesOf(options: NatsOptions) {
  const findings = await examineCluster(options)
  return findings.map(({ check, level, message }) => `${level} ${check}: ${message}`)
}

test('doctor looks at nodes, streams and followers, and creates nothing', async () => {
  const account = takeAccount()
  expect(await linesOf(account)).toEqual([
    ...account.servers.map(() => expect.stringMatching(/^\w+ nodes: n\d at .* is nats-server 2/)),
    'ok account: JetStream is enabled. The account uses 0 MiB in 0 streams',
    expect.stringMatching(/^note streams: The streams are not created yet/),
  ])

  const broker = await connectBroker({ ...account, partitions: 2 })
  const lost = { ...account, partitions: 3 }
  const answers = {
    reportsLag: async () => 200_000,
    findDifference: async () => ({ seq: 12, fault: 'lacks' }),
  }
  const stop = serveAnswers(broker.nc, 1, answers as never, () => {})
  // It is served when the node has the subscription.
  await broker.nc.flush()
  expect((await linesOf(lost)).slice(account.servers.length)).toEqual([
    'ok account: JetStream is enabled. The account uses 0 MiB in 9 streams',
    'error streams: NATS_PARTITIONS is 3, but the streams were created with 2. No gateway starts',
    'ok streams: 9 of 9 streams and buckets (2 partitions) have a leader, and replicas that are up to date',
    expect.stringMatching(/^error partitions: No follower answers for partition 0\./),
    'warning partitions: The reports of partition 1 are 200000 events behind',
    expect.stringMatching(
      /^warning partitions: The copy of partition 1, .* lacks an event that its stream has: 12 of shoptrail-events-1\./,
    ),
    'ok partitions: 1 of 2 partitions are held by a follower',
  ])
  stop()

  await broker.jsm.streams.delete(streamOf(0))
  expect(await linesOf(account)).toContainEqual(
    expect.stringMatching(/^error streams: shoptrail-events-0: missing/),
  )
  await broker.close()
})

test('a cluster that can not be reached says why, and what to check', async () => {
  const nowhere = { servers: [`127.0.0.1:${await findPort()}`] }
  expect(await linesOf(nowhere)).toEqual([expect.stringMatching(/^error cluster: .*\(ENGINE\)/)])
  const [line = ''] = await linesOf({ ...takeAccount(), password: 'wrong-secret' })
  expect(line).toMatch(/^error cluster: .*Authorization/)
  expect(line).not.toContain('wrong-secret')
})

test('with a cluster, doctor does not judge the databases of the folder', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'shoptrail-doctor-'))
  try {
    const findings = await examine(
      {
        dataDir,
        cluster: takeAccount(),
        host: '127.0.0.1',
        port: 0,
        metricsPort: undefined,
        publicUrl: undefined,
        trustedProxies: [],
        maxConnections: undefined,
        maxHeaderBytes: 2 ** 16,
        bodyBudgetBytes: 2 ** 25,
        diskReserveBytes: 0,
      },
      pathToFileURL(join(inject('gatewayBundles'), 'doctor-probe.js')),
    )
    const checks = new Set(findings.map(({ check }) => check))
    for (const check of ['folder', 'file system', 'space', 'nodes', 'account', 'streams', 'port'])
      expect(checks).toContain(check)
    for (const check of ['disk', 'databases']) expect(checks).not.toContain(check)
  } finally {
    rmSync(dataDir, { recursive: true })
  }
})
