import { reachEnd } from '../reachEnd.ts'
import type { StartTask } from '../task.ts'

/** Reads orders and subscribers from the copy of a partition, with every record that is durable when the question comes. */
export const startOrders: StartTask = async ({ broker, copy }) => ({
  answers: {
    async findOrder(customer, number) {
      await reachEnd(broker, copy)
      return copy.thread.call('findOrder', customer, number)
    },
    async findSubscriber(customer, email) {
      await reachEnd(broker, copy)
      return copy.thread.call('findSubscriber', customer, email)
    },
    async listUnsubscribed(customer, range) {
      await reachEnd(broker, copy)
      return copy.thread.call('listUnsubscribed', customer, range)
    },
  },
  async stop() {},
})
