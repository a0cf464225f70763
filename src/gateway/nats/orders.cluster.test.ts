import { rmSync } from 'node:fs'
import { expect, test, vi } from 'vitest'
import {
  createPatientAsk,
  publishEvent,
  startTestFollower,
  type TestFollower,
} from '../../test/followers.ts'
import { awaitForgottenIds } from '../../test/forgottenIds.ts'
import { makeFolder } from '../../test/gateway.ts'
import {
  makeRandomRecord,
  RANDOM_ADDRESSES,
  RANDOM_NUMBERS,
  statesFrom,
} from '../../test/orderRecords.ts'
import { testOrders } from '../../test/ordersContract.ts'
import { takeAccount } from '../../test/sharedCluster.ts'
import { Unavailable } from '../lib/unavailable.ts'
import { createAsk } from './ask.ts'
import { connectBroker } from './broker.ts'
import { createNatsLog } from './eventLog.ts'
import { startOrders } from './follower/tasks/orders.ts'
import { streamOf } from './names.ts'
import { createNatsOrders } from './orders.ts'

/** Long, for busy machines. A follower takes a partition and starts its tasks first. */
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 })
const account = takeAccount()

testOrders(async () => {
  const folder = makeFolder()
  const follower = await startTestFollower({ account, tasks: [startOrders], folder })
  const [one, other] = [await connectBroker(account), await connectBroker(account)]
  const ask = createPatientAsk(one.nc)
  const log = createNatsLog({ broker: one, ask })
  return {
    log,
    orders: createNatsOrders(ask, one.partitionOf),
    other: createNatsOrders(createPatientAsk(other.nc), other.partitionOf),
    place: { account },
    async close() {
      await log.close()
      await Promise.all([one.close(), other.close()])
      await follower.stop()
      rmSync(folder, { recursive: true })
      expect(follower.errors).toEqual([])
    },
  }
})

/** The whole state of a customer that has records of `makeRandomRecord`. */
async function statesOf({ ask }: TestFollower, customer: string) {
  const [orders, subscribers] = await Promise.all([
    Promise.all(RANDOM_NUMBERS.map((number) => ask(0, 'findOrder', [customer, number]))),
    Promise.all(RANDOM_ADDRESSES.map((email) => ask(0, 'findSubscriber', [customer, email]))),
  ])
  return { orders, subscribers }
}

test('a copy that is made again has the same states, and an id that comes after the duplicate window changes none', async () => {
  const given = { account: takeAccount(), tasks: [startOrders], folder: makeFolder() }
  const first = await startTestFollower(given)
  const { broker } = first
  const events = Array.from({ length: 200 }, () => makeRandomRecord('shop'))
  for (const event of events) await publishEvent(broker, event)
  const states = await statesOf(first, 'shop')
  const { orders, subscribers } = statesFrom(events.map((event, i) => ({ ...event, seq: i + 1 })))
  expect(states).toEqual({
    orders: RANDOM_NUMBERS.map((number) => orders.get(number)),
    subscribers: RANDOM_ADDRESSES.map((email) => subscribers.get(email)),
  })

  await awaitForgottenIds(broker)
  for (const event of events) await publishEvent(broker, event)
  const { state } = await broker.jsm.streams.info(streamOf(0))
  expect(state.last_seq).toBe(2 * events.length)
  expect(await statesOf(first, 'shop')).toEqual(states)

  await first.stop()
  rmSync(first.copy, { recursive: true })
  const again = await startTestFollower(given)
  expect(await statesOf(again, 'shop')).toEqual(states)
  await again.stop(true)
  expect([...first.errors, ...again.errors]).toEqual([])
})

test('without a follower nothing is found within the time of an answer, and lists are unavailable', async () => {
  const broker = await connectBroker({ ...takeAccount(), partitions: 1 })
  const orders = createNatsOrders(createAsk(broker.nc), broker.partitionOf)
  expect(await orders.find('shop', '1')).toBeUndefined()
  expect(await orders.findSubscriber('shop', 'anna@example.org')).toBeUndefined()
  await expect(orders.unsubscribed('shop', { from: 0, to: 1 })).rejects.toThrow(Unavailable)
  await broker.close()
})
