import { afterAll, beforeAll, expect, test } from 'vitest'
import { prepareGateway, send } from '../test/gateway.ts'
import { findDemoBlock } from './demo.ts'

let prepared: Awaited<ReturnType<typeof prepareGateway>>
beforeAll(async () => {
  prepared = await prepareGateway()
})
afterAll(() => prepared.end())

const LOCAL = { host: '127.0.0.1', trustedProxies: [], publicUrl: undefined }

test.each([
  [{}, undefined],
  [{ host: '::1' }, undefined],
  [{ host: '[::1]' }, undefined],
  [{ host: 'localhost' }, undefined],
  [{ host: '127.8.9.1' }, undefined],
  [{ host: '::ffff:127.0.0.1' }, undefined],
  [{ publicUrl: 'http://localhost:8787' }, undefined],
  [{ publicUrl: 'http://[::1]:8787/in' }, undefined],
  [{ host: '0.0.0.0' }, 'HOST 0.0.0.0'],
  [{ host: '::' }, 'HOST ::'],
  [{ host: '::ffff:192.168.1.5' }, 'HOST'],
  [{ host: '192.168.1.5' }, 'HOST'],
  [{ host: 'localhost.shop.example' }, 'HOST'],
  [{ host: 'shop.localhost' }, 'HOST'],
  [{ host: '127.shop.example' }, 'HOST'],
  [{ host: '' }, 'HOST'],
  [{ trustedProxies: ['127.0.0.1'] }, 'TRUSTED_PROXIES'],
  [{ publicUrl: 'https://t.shop.example' }, 'PUBLIC_URL'],
])('a demo with %j is blocked by %s', (more, reason) => {
  const block = findDemoBlock({ ...LOCAL, ...more })
  if (reason) expect(block).toContain(reason)
  else expect(block).toBeUndefined()
})

test.each([
  [{ host: '0.0.0.0' }],
  [{ trustedProxies: ['10.0.0.1'] }],
  [{ publicUrl: 'https://t.shop.example' }],
])('a gateway with %j never serves the demo', async (options) => {
  const gateway = await prepared.start({ demo: true, ...options })
  const url = `http://127.0.0.1:${gateway.port}`
  const headers = { host: `localhost:${gateway.port}` }
  const statusOf = async (path: string) => (await send(url, path, { headers })).status
  expect(gateway).toMatchObject({ demo: false, demoRestKey: undefined })
  expect(gateway.customers.find('demo')).toBeUndefined()
  expect(await statusOf('/shop/')).toBe(404)
  for (const path of ['/live/customers', '/live/events?customer=demo', '/campaigns/data/list'])
    expect(await statusOf(path)).toBe(401)
})

test('a demo customer that was removed does not come back, and the gateway runs without the demo', async () => {
  const dataDir = `${prepared.folder}/removed`
  const before = await prepared.start({ demo: true, dataDir })
  before.customers.remove('demo')
  await before.close()
  const gateway = await prepared.start({ demo: true, dataDir })
  expect(gateway).toMatchObject({ demo: false, demoRestKey: undefined })
  expect(gateway.demoBlock).toContain('the customer demo was removed')
  expect(gateway.customers.find('demo')).toBeUndefined()
  expect((await send(gateway.url, '/shop/')).status).toBe(404)
})

test('a demo customer of an earlier start is not open without the demo', async () => {
  const dataDir = `${prepared.folder}/earlier`
  await (await prepared.start({ demo: true, dataDir })).close()
  const gateway = await prepared.start({ dataDir })
  expect((await send(gateway.url, '/live/events?customer=demo')).status).toBe(401)
  expect((await send(gateway.url, '/campaigns/data/list?customer=demo')).status).toBe(401)
})

test.each([['http://localhost'], ['http://127.0.0.1'], ['http://[::1]']])(
  'behind a proxy on the same machine that sends Host %s, no customer is visible without a sign-in',
  async (origin) => {
    const gateway = await prepared.start({ demo: true })
    const { customer } = gateway.customers.add({ origins: ['loopback'] })
    const headers = { host: new URL(origin).host }
    for (const path of [
      `/live/events?customer=${customer.customerId}`,
      `/campaigns/data/list?customer=${customer.customerId}`,
    ])
      expect((await send(gateway.url, path, { headers })).status).toBe(403)
    expect((await send(gateway.url, '/metrics', { headers })).status).toBe(404)
  },
)
