import { viewOf } from '../../../campaigns/reportView.ts'
import type { ExpiredEvents } from '../../../collect/expiredEvents.ts'
import { type SweeperOptions, startSweeper } from '../../../collect/sweeper.ts'
import { Unavailable } from '../../../lib/unavailable.ts'
import { createSqliteExpiredEvents } from '../../../sqlite/expiredEvents.ts'
import { eventSubject, expiredSubject, streamOf } from '../../names.ts'
import { encodeExpired } from '../../removedMessage.ts'
import type { PartitionCopy } from '../partitionCopy.ts'
import type { StartTask, TaskContext } from '../task.ts'

export type RetentionOptions = Pick<
  SweeperOptions,
  'onRemoved' | 'onPass' | 'firstMs' | 'pauseMs'
> & {
  /** Closes the figures of a customer's campaigns before its events are removed, see Reports. */
  readonly closeFigures: (
    copy: PartitionCopy,
    customer: string,
    before: number,
    timeZone: string,
  ) => Promise<void>
}

/**
 * Removes events whose retention is over: closes the figures that need them, purges them from the stream, tells all
 * copies by a message, and removes them here. A pass that was interrupted finds them again.
 */
export const createRetentionTask =
  (options: RetentionOptions): StartTask =>
  async (context) => {
    const { broker, copy, derived, customers, now, onError } = context
    const { closeFigures, ...paced } = options
    const sweeper = startSweeper({
      ...paced,
      events: createExpiredMessages(context),
      retentions: () =>
        customers
          .retentions()
          .filter(({ customerId }) => broker.partitionOf(customerId) === copy.partition),
      async beforeRemoval(customer, before) {
        await closeFigures(copy, customer, before, viewOf(customers, customer).timeZone)
        // They can not be made again.
        await derived.flush()
      },
      now,
      onError: (error) => onError(error, 'the removal of old events'),
    })
    return { answers: {}, stop: () => sweeper.stop() }
  }

/** Expired events of the copy, which are removed from the stream first. */
function createExpiredMessages({ broker, copy, isHeld }: TaskContext): ExpiredEvents {
  const { partition, thread } = copy
  const stream = streamOf(partition)
  const local = createSqliteExpiredEvents(thread.call)
  /** By customer, up to where the stream was purged by this process. */
  const purged = new Map<string, number>()

  async function purge(customer: string, upTo: number): Promise<void> {
    if (!isHeld()) throw new Unavailable('The partition has moved to another follower')
    const filter = expiredSubject(partition, customer)
    await broker.jsm.streams.purge(stream, {
      filter: eventSubject(partition, customer),
      seq: upTo + 1,
    })
    await broker.js.publish(filter, encodeExpired(upTo))
    // The newest message replaces those before: its position is further.
    await broker.jsm.streams.purge(stream, { filter, keep: 1 })
    purged.set(customer, upTo)
  }

  return {
    ...local,
    async remove(customer, upTo) {
      if ((purged.get(customer) ?? 0) < upTo) await purge(customer, upTo)
      return local.remove(customer, upTo)
    },
  }
}
