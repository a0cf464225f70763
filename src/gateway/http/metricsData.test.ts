import { rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { prepareGateway, send } from '../../test/gateway.ts'
import { createMetrics } from './metrics.ts'

let prepared: Awaited<ReturnType<typeof prepareGateway>>
beforeAll(async () => {
  prepared = await prepareGateway()
})
afterAll(() => prepared.end())

/** The values of a metric, by its labels. */
const valuesOf = (text: string, name: string): Record<string, number> =>
  Object.fromEntries(
    [...text.matchAll(new RegExp(`^${name}(?:\\{(.*)\\})? (\\S+)$`, 'gm'))].map(
      ([, labels = '', value]) => [labels, Number(value)],
    ),
  )

test('the metrics have the events of each customer, the files, the disk and the build', async () => {
  const gateway = await prepared.start({ metricsPort: 0 })
  for (const name of ['a', 'b'])
    gateway.customers.add({
      customerId: name,
      trackingKey: `TRACK-${name}`,
      origins: [`https://${name}.example`],
    })
  const post = (name: string, origin: string, event = 'view_homepage') =>
    send(gateway.url, `/t/r?k=TRACK-${name}`, {
      method: 'POST',
      headers: { origin, 'user-agent': 'UA/1' },
      body: JSON.stringify({ did: 'd-1', event, url: `${origin}/` }),
    })
  await post('a', 'https://a.example')
  // Stored once.
  const a = 'a&id=0190f3a2-7c41-7d11-9a3e-5f2b8c6d4e10'
  for (let i = 0; i < 3; i++) await post(a, 'https://a.example')
  await post('b', 'https://b.example')
  await post('b', 'https://a.example')
  await post('b', 'https://b.example', 'search')
  await post('none', 'https://b.example')
  const { text } = await send(gateway.metricsUrl as string, '/metrics')
  expect(valuesOf(text, 'customer_events_total')).toEqual({
    'customer="a",outcome="stored"': 2,
    'customer="a",outcome="refused"': 0,
    'customer="b",outcome="stored"': 1,
    'customer="b",outcome="refused"': 2,
    'customer="(other)",outcome="stored"': 0,
    'customer="(other)",outcome="refused"': 1,
  })
  const files = valuesOf(text, 'data_file_bytes')
  expect(files['file="customers.db"']).toBe(
    statSync(join(prepared.folder, 'data/customers.db')).size,
  )
  expect(files['file="events.db-wal"']).toBeGreaterThan(0)
  expect(valuesOf(text, 'data_disk_free_bytes')['']).toBeGreaterThan(2 ** 20)
  expect(Object.keys(valuesOf(text, 'build_info'))).toEqual([
    expect.stringContaining(`node="${process.versions.node}"`),
  ])
})

test('several answers at the same time all have every file', async () => {
  const gateway = await prepared.start({ metricsPort: 0 })
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => send(gateway.metricsUrl as string, '/metrics')),
  )
  const counts = answers.map(({ text }) => Object.keys(valuesOf(text, 'data_file_bytes')).length)
  expect(counts[0]).toBeGreaterThan(2)
  expect(new Set(counts).size).toBe(1)
})

test('a folder that can not be read does not hide the other metrics', async () => {
  const dataDir = join(prepared.folder, 'gone')
  rmSync(dataDir, { recursive: true, force: true })
  const { text } = await createMetrics(() => 7, undefined, { dataDir }).render()
  expect(valuesOf(text, 'data_disk_free_bytes')).toEqual({ '': Number.NaN })
  expect(valuesOf(text, 'data_file_bytes')).toEqual({})
  expect(valuesOf(text, 'events_waiting')).toEqual({ '': 7 })
})

test('what a gateway refuses that waits for its data is counted', async () => {
  const waiting = await prepareGateway()
  await (await waiting.start()).close()
  rmSync(join(waiting.folder, 'data/customers.db'))
  const gateway = await waiting.start({ metricsPort: 0 })
  expect(gateway.isOpen()).toBe(false)
  await send(gateway.url, '/t/r?k=KEY', { method: 'POST', body: '{}' })
  await send(gateway.url, '/api/v1/custom_events', { method: 'POST', body: '{}' })
  await send(gateway.url, '/readyz')
  const { text } = await send(gateway.metricsUrl as string, '/metrics')
  expect(valuesOf(text, 'events_refused_total')).toEqual({ 'status="503"': 2 })
  expect(valuesOf(text, 'customer_events_total')).toMatchObject({
    'customer="(other)",outcome="refused"': 2,
  })
  await waiting.end()
})
