import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, expect, test, vi } from 'vitest'
import { prepareGateway, send } from '../../test/gateway.ts'
import { completePayloads } from '../../test/payloads.ts'
import { takeAccount } from '../../test/sharedCluster.ts'
import type { Gateway } from '../index.ts'

/** Long, for busy machines. */
const SOON = { timeout: 60_000, interval: 100 }
const ORIGIN = 'https://shop.example'
const REST_KEY = 'REST-KEY-00000001'
const LIMIT = 4

const prepared = await prepareGateway()
afterAll(() => prepared.end())

test('on a cluster the events of pages do not use up the quota of the servers, which all gateways share', async () => {
  const cluster = { ...takeAccount(), partitions: 1, follow: true }
  const start = async (name: string) => {
    const gateway = await prepared.start({
      cluster,
      dataDir: join(prepared.folder, name),
      limits: { daily: { events: LIMIT } },
      onError() {},
    })
    // On a busy machine the cluster may not be connected yet.
    await vi.waitFor(() => expect(gateway.isOpen()).toBe(true), SOON)
    return gateway
  }
  const one = await start('one')
  const other = await start('other')
  one.customers.add({
    ...{ customerId: 'CUST-1', restKey: REST_KEY, trackingKey: 'TRACKKEY1', origins: [ORIGIN] },
  })
  await vi.waitFor(() => expect(other.customers.find('CUST-1')).toBeDefined(), SOON)

  const { event: _, ...page } = completePayloads.viewHomepage
  const postPage = async ({ url }: Gateway) => {
    const body = JSON.stringify({ ...page, event: 'view_homepage' })
    const target = `/t/r?k=TRACKKEY1&id=${randomUUID()}`
    return (await send(url, target, { method: 'POST', body, headers: { origin: ORIGIN } })).status
  }
  let number = 0
  const postOrder = async ({ url }: Gateway) => {
    const body = JSON.stringify({ ...completePayloads.saveOrder, number: ++number })
    const target = `/api/v1/save_order?k=${REST_KEY}&u=CUST-1`
    return (await send(url, target, { method: 'POST', body })).status
  }

  for (let i = 0; i < LIMIT; i++) expect(await postPage(one)).toBe(200)
  expect(await postPage(one)).toBe(429)
  await vi.waitFor(async () => expect(await postPage(other)).toBe(429), SOON)
  for (let i = 0; i < LIMIT; i++) expect(await postOrder(one)).toBe(200)
  expect(await postOrder(one)).toBe(429)
  await vi.waitFor(async () => expect(await postOrder(other)).toBe(429), SOON)
})
