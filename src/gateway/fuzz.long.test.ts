import { rmSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runFuzz } from '../test/fuzzRun.ts'
import { type GatewayProcess, layOutGateway, startProcess } from '../test/gateway.ts'

const REQUESTS = 100_000
/** Memory may differ by this much between two moments without a leak, bytes. */
const NOISE_BYTES = 24 * 2 ** 20

let folder: string
let gateway: GatewayProcess

beforeAll(async () => {
  folder = layOutGateway()
  gateway = await startProcess(folder, {
    METRICS_PORT: '0',
    LOG_LEVEL: 'error',
    ADDRESS_EVENTS_PER_SECOND: '100000000000000',
    ADDRESS_EVENTS_BURST: '100000000000000',
    ADDRESS_BYTES_PER_SECOND: '100000000000000',
    ADDRESS_BYTES_BURST: '100000000000000',
  })
})
afterAll(async () => {
  await gateway.end('SIGTERM')
  rmSync(folder, { recursive: true })
})

async function residentBytes(): Promise<number> {
  const address = /http:\S+\/metrics/.exec(gateway.output())?.[0] ?? ''
  const text = await (await fetch(address)).text()
  return Number(/^process_resident_memory_bytes (\S+)/m.exec(text)?.[1])
}

test('100,000 generated requests cause no 500 and no crash, and memory stays flat', async () => {
  const seed = Number(process.env.FUZZ_SEED ?? Date.now() % 1_000_000)
  console.log(`FUZZ_SEED=${seed}`)
  const restKey = /REST key {5}(\S+)/.exec(gateway.output())?.[1] ?? ''
  expect(restKey).not.toBe('')
  const memory: number[] = []
  const target = { trackingKey: 'DEMOSHOP', restKey }
  const port = Number(new URL(gateway.url).port)
  const result = await runFuzz(port, target, REQUESTS, seed, async (requests) => {
    expect((await fetch(`${gateway.url}/readyz`)).status).toBe(200)
    memory.push(await residentBytes())
    if (memory.length % 5 === 0)
      console.log(`${requests} requests, ${(memory.at(-1) ?? 0) >> 20} MiB`)
  })
  console.log(Object.fromEntries([...result.statuses].sort(([a], [b]) => a - b)))
  expect(result.faults).toEqual([])
  expect(gateway.output()).not.toMatch(/"level":[56]0/)
  for (const status of [200, 400, 401, 404, 405, 413, 415, 422])
    expect(result.statuses.get(status), `answers ${status}`).toBeGreaterThan(10)
  const half = memory.length >> 1
  const grown = Math.min(...memory.slice(half)) - Math.max(...memory.slice(half >> 1, half))
  expect(grown).toBeLessThan(NOISE_BYTES)
})
