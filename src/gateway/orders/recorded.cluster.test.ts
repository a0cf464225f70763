import { join } from 'node:path'
import { afterAll, expect, test, vi } from 'vitest'
import { prepareGateway } from '../../test/gateway.ts'
import { recorded, replay } from '../../test/recordedOrders.ts'
import { takeAccount } from '../../test/sharedCluster.ts'

/** Long, for busy machines. */
const SOON = { timeout: 60_000, interval: 100 }

const prepared = await prepareGateway()
afterAll(() => prepared.end())

test('on a cluster each call is stored, is known to every gateway, and is stored once', async () => {
  const cluster = { ...takeAccount(), partitions: 1, follow: true }
  const errors: unknown[] = []
  const start = async (name: string) => {
    const gateway = await prepared.start({
      cluster,
      dataDir: join(prepared.folder, name),
      onError: (error, what) => errors.push(`${what}: ${error}`),
    })
    // On a busy machine the cluster may not be connected yet.
    await vi.waitFor(() => expect(gateway.isOpen()).toBe(true), SOON)
    return gateway
  }
  const one = await start('one')
  const other = await start('other')
  one.customers.add({ customerId: 'CUST-1', restKey: 'REST-KEY-00000001' })
  await vi.waitFor(() => expect(other.customers.find('CUST-1')).toBeDefined(), SOON)

  const calls = recorded.filter(
    ({ expected, operation }) => expected.event && operation !== 'sendCustomApi',
  )
  for (const call of calls) {
    const answer = await replay(one.port, call)
    expect(answer.status).toBe(200)
    expect(JSON.parse(answer.text).stored).toBe(true)
  }
  const records = await one.log.read({ customer: 'CUST-1', max: 1_000 })
  expect(records.map(({ event, payload }) => [event, JSON.parse(payload)])).toEqual(
    calls.map(({ expected }) => [expected.event, expected.payload]),
  )
  const list = recorded.find(({ expected }) => expected.list)
  if (!list) throw new Error('The list is not recorded')
  // The follower has read all records when it has read the last ones.
  await vi.waitFor(async () => {
    const answer = await replay(other.port, list)
    expect(answer.status).toBe(200)
    expect(JSON.parse(answer.text)).toHaveLength(5)
  }, SOON)
  // An answer that comes too late counts as an unknown order, which may be stored again.
  await vi.waitFor(async () => {
    const last = calls.filter(({ operation }) => operation === 'saveOrder').at(-1)
    if (!last) throw new Error('No order is recorded')
    expect((await replay(other.port, last)).text).toBe('{"stored":false}')
  }, SOON)
  // Until a follower holds the partition, the list is 503.
  expect(errors.filter((error) => !`${error}`.includes('No follower holds'))).toEqual([])
})
