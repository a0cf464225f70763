import { afterAll, expect, test } from 'vitest'
import { runFuzz } from '../test/fuzzRun.ts'
import { prepareGateway } from '../test/gateway.ts'

const gateways = await prepareGateway()
afterAll(gateways.end)

// fuzz.long.test.ts sends 100,000 others, and watches the memory.
test('generated requests cause no 500, and leave a gateway that works', async () => {
  const errors: unknown[] = []
  const gateway = await gateways.start({ demo: true, onError: (error) => errors.push(error) })
  const target = { trackingKey: 'DEMOSHOP', restKey: gateway.demoRestKey ?? '' }
  const { faults, statuses } = await runFuzz(gateway.port, target, 2_000, 14)
  expect(faults).toEqual([])
  expect(errors).toEqual([])
  expect(statuses.get(200)).toBeGreaterThan(20)
  expect((await fetch(`${gateway.url}/readyz`)).status).toBe(200)
})
