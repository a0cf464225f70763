import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { prepareGateway, send } from '../test/gateway.ts'
import { takeAccount } from '../test/sharedCluster.ts'

let prepared: Awaited<ReturnType<typeof prepareGateway>>
beforeAll(async () => {
  prepared = await prepareGateway()
})
afterAll(() => prepared.end())

test('a gateway that starts without its cluster serves the scripts of the keys that it knows', async () => {
  const cluster = { ...takeAccount(), partitions: 1, follow: false }
  const before = await prepared.start({ cluster, demo: true })
  const script = await send(before.url, '/t/j/DEMOSHOP')
  expect(script.status).toBe(200)
  await before.close()

  const gateway = await prepared.start({ cluster: { ...cluster, servers: ['127.0.0.1:1'] } })
  expect(await send(gateway.url, '/t/j/DEMOSHOP')).toMatchObject({ status: 200, text: script.text })
  for (const path of ['/t/i.js', '/t/p.js'])
    expect((await send(gateway.url, path)).status).toBe(200)
  // Another gateway may have added the key meanwhile.
  for (const path of ['/t/j/ANOTHER', `/t/j/DEMOSHOP/${'a'.repeat(64)}.js`, '/readyz', '/live/'])
    expect((await send(gateway.url, path)).status).toBe(503)
  const event = await send(gateway.url, `/t/r?k=DEMOSHOP&id=${randomUUID()}`, {
    method: 'POST',
    headers: { origin: 'http://localhost' },
    body: '{}',
  })
  expect(event.status).toBe(503)
  expect(event.headers['retry-after']).toBe('30')
  await gateway.close()
})

test('a gateway that starts without its cluster for the first time serves no script', async () => {
  const gateway = await prepared.start({
    cluster: { ...takeAccount(), servers: ['127.0.0.1:1'] },
    dataDir: `${prepared.folder}/first`,
  })
  expect((await send(gateway.url, '/t/j/DEMOSHOP')).status).toBe(503)
  await gateway.close()
})
