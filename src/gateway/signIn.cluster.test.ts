import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { prepareGateway, send } from '../test/gateway.ts'
import { type NatsCluster, startNatsCluster } from '../test/natsCluster.ts'
import type { Gateway } from './index.ts'

/** Long, for busy machines. */
const SOON = { timeout: 45_000, interval: 100 }

let prepared: Awaited<ReturnType<typeof prepareGateway>>
let cluster: NatsCluster
const gateways: Gateway[] = []

beforeAll(async () => {
  prepared = await prepareGateway()
  cluster = await startNatsCluster()
  const account = { ...cluster.takeAccount(), partitions: 1, follow: false }
  for (const name of ['one', 'two'])
    gateways.push(await prepared.start({ cluster: account, dataDir: join(prepared.folder, name) }))
})
afterAll(async () => {
  await cluster.end()
  await prepared.end()
})

/** The cookie is for the host and the port, so it is sent under the name that this gateway has for it. */
const cookieOf = ({ port }: Gateway, token: string) => ({ cookie: `shoptrail-${port}=${token}` })

const post = (gateway: Gateway, target: string, body: unknown, token = '') =>
  send(gateway.url, target, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...cookieOf(gateway, token) },
    body: JSON.stringify(body),
  })

const list = (gateway: Gateway, token: string) =>
  send(gateway.url, '/live/customers', { headers: cookieOf(gateway, token) })

test('a sign-in is valid at every gateway, also while the cluster is away, and a new one is answered 503', async () => {
  const [one, two] = gateways as [Gateway, Gateway]
  const { customer, restKey } = one.customers.add({ customerId: 'shop' })
  const signedIn = await post(one, '/live/login', { customerId: 'shop', restKey })
  expect(signedIn.status).toBe(200)
  const token = /=([\w-]{43});/.exec(`${signedIn.headers['set-cookie']}`)?.[1] as string
  await expect.poll(async () => (await list(two, token)).status, SOON).toBe(200)

  for (const node of [0, 1, 2]) await cluster.kill(node)
  expect((await list(two, token)).status).toBe(200)
  expect((await send(two.url, `/t/j/${customer.trackingKey}`)).status).toBe(200)
  for (const [target, body] of [
    ['/live/login', { customerId: 'shop', restKey }],
    ['/live/logout', {}],
  ] as const) {
    const { status, headers } = await post(two, target, body, token)
    expect(status).toBe(503)
    expect(Number(headers['retry-after'])).toBeGreaterThan(0)
    expect(headers['set-cookie']).toBeUndefined()
  }
}, 120_000)
