import { rmSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { layOutGateway } from '../test/gateway.ts'
import { restartInTurn } from '../test/rollingRestart.ts'

// Without a drain, and after a kill: rollingRestart.long.test.ts.
let folder: string
beforeAll(() => {
  folder = layOutGateway()
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('two gateways are restarted in turn under load: no request fails, nothing is lost or stored twice', async () => {
  const { failed, acknowledged, stored, answered } = await restartInTurn(folder, {
    drainMs: 500,
    signal: 'SIGTERM',
  })
  expect(failed).toEqual([])
  expect(Math.min(...answered)).toBeGreaterThan(50)
  expect([...stored].sort()).toEqual([...acknowledged].sort())
})
