import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { joinNatsCluster } from './natsCluster.ts'

test('a node does not start if one of another cluster has taken its port', async () => {
  const other = inject('clusterFolder')
  const own = mkdtempSync(join(tmpdir(), 'shoptrail-nats-'))
  const config = readFileSync(join(other, 'n0.conf'), 'utf8')
    // Its routes would lead to the other cluster.
    .replace(/^cluster \{.*?^\}/ms, '')
    .replaceAll(basename(other), basename(own))
  writeFileSync(join(own, 'n0.conf'), config)
  const cluster = joinNatsCluster(own)
  try {
    expect(cluster.servers[0]).toBe(joinNatsCluster(other).servers[0])
    await expect(cluster.start(0)).rejects.toThrow('nats-server has ended with 1')
  } finally {
    await cluster.end()
  }
})
