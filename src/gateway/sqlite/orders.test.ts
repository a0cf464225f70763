import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll } from 'vitest'
import { makeFolder, workerFile } from '../../test/gateway.ts'
import { testOrders } from '../../test/ordersContract.ts'
import { createSqliteLog } from './eventLog.ts'
import { createSqliteOrders } from './orders.ts'
import { startSqliteThread } from './thread.ts'

const folder = makeFolder()
afterAll(() => rmSync(folder, { recursive: true }))

testOrders(async () => {
  const file = join(folder, 'events.db')
  const threads = [
    await startSqliteThread(file, workerFile()),
    await startSqliteThread(file, workerFile()),
  ] as const
  const [one, other] = threads
  const log = createSqliteLog(one)
  return {
    log,
    orders: createSqliteOrders(one.call),
    other: createSqliteOrders(other.call),
    place: { file, worker: fileURLToPath(workerFile()) },
    async close() {
      await log.close()
      await other.close()
    },
  }
})
