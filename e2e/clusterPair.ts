import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { startBalancer } from '../src/test/balancer.ts'
import { findPort } from '../src/test/findPort.ts'
import { joinNatsCluster, type NatsCluster } from '../src/test/natsCluster.ts'
import { clusterEnv } from './cluster/env.ts'
import { openStreams, type Streams } from './cluster/streams.ts'
import { test as base } from './fixtures.ts'
import { makeFolder } from './gateway.ts'
import { runCommand, startOwnGateway } from './gatewaySoak/gateways.ts'
import type { Operated } from './operatorPage.ts'

/** Two gateways with the demo, in processes of their own, on one cluster and behind a balancer. */
export type Pair = {
  readonly cluster: NatsCluster
  readonly streams: Streams
  /** Address of the balancer. */
  readonly url: string
  /** Addresses of the gateways. */
  readonly one: string
  readonly two: string
  /** The requests that each gateway has answered through the balancer. */
  readonly answered: readonly number[]
  /** Runs `shoptrail` with the settings of the first gateway. @returns What it has printed. */
  command(...args: readonly string[]): Promise<string>
  /** Adds a customer that allows every origin of this machine. */
  addCustomer(id: string): Promise<Operated>
}

export const test = base.extend<object, { pair: Pair }>({
  pair: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the names of the fixtures from it.
    async ({}, use) => {
      const cluster = joinNatsCluster(process.env.NATS_TEST_CLUSTER as string)
      const account = cluster.takeAccount()
      const folder = makeFolder('cluster')
      const settings = (name: string) => ({ ...clusterEnv(account), DATA_DIR: join(folder, name) })
      const start = async (name: string) =>
        startOwnGateway(join(folder, name), {
          ...settings(name),
          DEMO: 'on',
          PORT: `${await findPort()}`,
        })
      const gateways = [await start('one'), await start('two')] as const
      const [one, two] = gateways
      const balancer = await startBalancer([one.url, two.url])
      await balancer.untilReady(0)
      await balancer.untilReady(1)
      const streams = await openStreams(account)
      const command = (...args: readonly string[]) =>
        runCommand(join(folder, 'one'), args, settings('one'))

      await use({
        cluster,
        streams,
        url: balancer.url,
        one: one.url,
        two: two.url,
        answered: balancer.answered,
        command,
        async addCustomer(id) {
          const printed = await command(
            ...['customer', 'add', '--id', id, '--name', id, '--origin', 'loopback'],
          )
          const read = (name: string) =>
            new RegExp(`^${name}\\s+(\\S+)$`, 'm').exec(printed)?.[1] ?? ''
          return {
            customerId: id,
            trackingKey: read('trackingKey'),
            restKey: read('restKey'),
            name: id,
          }
        },
      })

      await streams.close()
      await balancer.close()
      for (const gateway of gateways) await gateway.end('SIGTERM')
      rmSync(folder, { recursive: true, force: true })
    },
    { scope: 'worker', timeout: 180_000 },
  ],
})
