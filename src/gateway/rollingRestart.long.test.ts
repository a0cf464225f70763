import { rmSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { layOutGateway } from '../test/gateway.ts'
import { restartInTurn } from '../test/rollingRestart.ts'

let folder: string
beforeAll(() => {
  folder = layOutGateway()
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test.each<[NodeJS.Signals]>([['SIGTERM'], ['SIGKILL']])(
  'without a drain (%s) requests fail only with what a page sends again, and nothing is lost or stored twice',
  async (signal) => {
    const { failed, acknowledged, stored } = await restartInTurn(folder, { drainMs: 0, signal })
    // The balancer's answer for a gateway that breaks off.
    expect(failed.filter((status) => status !== 502)).toEqual([])
    if (signal === 'SIGKILL') expect(failed.length).toBeGreaterThan(0)
    // Each sender has repeated its events until they were acknowledged.
    expect([...stored].sort()).toEqual([...acknowledged].sort())
  },
)
