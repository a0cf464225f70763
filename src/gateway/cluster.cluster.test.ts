import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { prepareGateway, send } from '../test/gateway.ts'
import { takeAccount } from '../test/sharedCluster.ts'
import type { Gateway } from './index.ts'

/** Long, for busy machines. */
const SOON = { timeout: 60_000, interval: 100 }
const cluster = { ...takeAccount(), partitions: 2 }

let prepared: Awaited<ReturnType<typeof prepareGateway>>
beforeAll(async () => {
  prepared = await prepareGateway()
})
afterAll(() => prepared.end())

const errors: string[] = []
const start = (name: string): Promise<Gateway> =>
  prepared.start({
    cluster,
    dataDir: join(prepared.folder, name),
    demo: true,
    onError: (error, what) => errors.push(`${what}: ${(error as Error).message}`),
  })

async function post({ url }: Gateway, id: string): Promise<number> {
  const { status } = await send(url, `/t/r?k=DEMOSHOP&id=${id}`, {
    method: 'POST',
    headers: { origin: 'http://localhost' },
    body: JSON.stringify({
      event: 'search',
      search_term: 'mug',
      did: 'd-1',
      url: 'http://localhost/',
      http_user_agent: 'UA/1',
      remote_addr: '0.0.0.0',
    }),
  })
  return status
}

test('an event that one gateway has stored is known to the other one', async () => {
  const one = await start('one')
  const other = await start('other')
  expect(one.demoRestKey).toBeDefined()
  expect(other.demoRestKey).toBeUndefined()
  const id = randomUUID()
  expect(await post(one, id)).toBe(200)
  for (const { log } of [one, other])
    await expect.poll(() => log.has('demo', [id]), SOON).toEqual([true])
  expect((await send(other.url, '/readyz')).status).toBe(200)
  await one.close()
  expect(await post(other, id)).toBe(200)
  await expect.poll(() => other.log.has('demo', [id]), SOON).toEqual([true])
  expect(errors).toEqual([])
})
