import { rmSync } from 'node:fs'
import { expect, vi } from 'vitest'
import { startTestFollower } from '../../test/followers.ts'
import { makeFolder } from '../../test/gateway.ts'
import { testOrders } from '../../test/ordersContract.ts'
import { takeAccount } from '../../test/sharedCluster.ts'
import { createAsk } from './ask.ts'
import { connectBroker } from './broker.ts'
import { createNatsLog } from './eventLog.ts'
import { startOrders } from './follower/tasks/orders.ts'
import { createNatsOrders } from './orders.ts'

const account = takeAccount()

testOrders(async () => {
  const folder = makeFolder()
  const follower = await startTestFollower({ account, tasks: [startOrders], folder })
  await vi.waitFor(() => expect(follower.isHeld()).toBe(true), { timeout: 60_000 })
  const [one, other] = [await connectBroker(account), await connectBroker(account)]
  const ask = createAsk(one.nc)
  const log = createNatsLog({ broker: one, ask })
  return {
    log,
    orders: createNatsOrders(ask, one.partitionOf),
    other: createNatsOrders(createAsk(other.nc), other.partitionOf),
    async close() {
      await log.close()
      await Promise.all([one.close(), other.close()])
      await follower.stop()
      rmSync(folder, { recursive: true })
      expect(follower.errors).toEqual([])
    },
  }
})
