import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { errors as brokerErrors, type NatsConnection } from '@nats-io/transport-node'
import type { LogEvent } from '../gateway/collect/eventLog.ts'
import { type Ask, createAsk } from '../gateway/nats/ask.ts'
import { type Broker, connectBroker } from '../gateway/nats/broker.ts'
import { encodeEvent, messageIdOf } from '../gateway/nats/eventMessage.ts'
import { startFollower } from '../gateway/nats/follower/follower.ts'
import type { StartTask } from '../gateway/nats/follower/task.ts'
import { eventSubject } from '../gateway/nats/names.ts'
import type { NatsOptions } from '../gateway/nats/natsOptions.ts'
import { findPassing } from '../gateway/nats/passing.ts'
import { createSqliteCustomers } from '../gateway/sqlite/customers.ts'
import { makeFolder, workerFile } from './gateway.ts'

/** A follower of one partition, with a connection and a folder of its own. */
export type TestFollower = {
  readonly broker: Broker
  /** Waits for a follower that answers. */
  readonly ask: Ask
  /** Folder of the copy. */
  readonly copy: string
  /** Errors that it has reported. */
  readonly errors: string[]
  /** Whether the partition is taken. Its tasks may not have started. */
  isHeld(): boolean
  /** Messages of the stream that it has. */
  position(): number
  /** @param isDeleted Whether its folder is deleted too. Default false. */
  stop(isDeleted?: boolean): Promise<void>
}

export type FollowerGiven = {
  readonly account: NatsOptions
  readonly tasks: readonly StartTask[]
  /** Customers in its customers.db. The retention, days: default none. */
  readonly customers?: readonly { readonly id: string; readonly retentionDays?: number }[]
  /** Default: a new one. */
  readonly folder?: string
  /** Default Date.now. */
  readonly now?: () => number
}

export async function startTestFollower(given: FollowerGiven): Promise<TestFollower> {
  const { account, tasks, folder = makeFolder(), now = Date.now } = given
  const broker = await connectBroker({ ...account, partitions: 1, duplicateWindowMs: 1_000 })
  const errors: string[] = []
  const customersFile = join(folder, 'customers.db')
  const customers = createSqliteCustomers(customersFile)
  for (const { id, retentionDays = null } of given.customers ?? [])
    if (!customers.find(id)) customers.add({ customerId: id, origins: [], retentionDays })
  const follower = startFollower({
    broker,
    dataDir: folder,
    customers,
    customersFile,
    workerFile: workerFile(),
    tasks,
    now,
    monotonicNow: () => performance.now(),
    onError(error, what) {
      // Otherwise the cluster is busy, and it is tried again.
      if (findPassing(error) === undefined) errors.push(`${what}: ${(error as Error).message}`)
    },
  })
  return {
    broker,
    ask: createPatientAsk(broker.nc),
    copy: join(folder, 'partition-0'),
    errors,
    isHeld: () => follower.status()[0]?.isHeld === true,
    position: () => follower.status()[0]?.position ?? 0,
    async stop(isDeleted = false) {
      await follower.close()
      customers.close()
      await broker.close()
      if (isDeleted) rmSync(folder, { recursive: true })
    },
  }
}

/** Time for a follower to take a partition and start its tasks, ms. Long, for busy machines. */
const PATIENCE_MS = 60_000

/** Asks again while nobody answers for the partition: its holder is still starting its tasks, or another one takes over. */
export function createPatientAsk(nc: NatsConnection): Ask {
  const ask = createAsk(nc)
  return async (...question) => {
    const end = performance.now() + PATIENCE_MS
    for (;;)
      try {
        return (await ask(...question)) as never
      } catch (error) {
        const isUnheld = (error as Error).cause instanceof brokerErrors.NoRespondersError
        if (!isUnheld || performance.now() > end) throw error
        await delay(100)
      }
  }
}

/** An event of a device. */
export const makeLogEvent = (
  given: Partial<LogEvent> & { readonly customer: string },
): LogEvent => ({
  id: randomUUID(),
  at: Date.now(),
  receivedAt: Date.now(),
  operation: 'search',
  event: 'search',
  did: 'd-1',
  bot: false,
  version: null,
  payload: JSON.stringify({ did: given.did ?? 'd-1', event: 'search', search_term: 'mug' }),
  ...given,
})

/** Publishes an event as a gateway does. @returns Its sequence. */
export async function publishEvent(broker: Broker, event: LogEvent): Promise<number> {
  const subject = eventSubject(broker.partitionOf(event.customer), event.customer)
  const { seq } = await broker.js.publish(subject, encodeEvent(event), {
    msgID: messageIdOf(event),
  })
  return seq
}
