import type { Reports } from '../campaigns/report.ts'
import type { Ask } from './ask.ts'

export type NatsReportsOptions = {
  readonly ask: Ask
  readonly partitionOf: (customer: string) => number
  /** The partitions whose follower is this process. */
  readonly held: () => readonly number[]
}

/** Reports of the followers that hold the partitions of the customers. */
export function createNatsReports({ ask, partitionOf, held }: NatsReportsOptions): Reports {
  return {
    // The followers do, when a customer has an e-mail campaign.
    follow() {},
    read: (customer, tracking, view) =>
      ask(partitionOf(customer), 'readReport', [customer, tracking, view]),
    /** Of the partitions that this process holds, so that the sum over all processes is right. */
    async lag() {
      const lags = await Promise.all(held().map((partition) => ask(partition, 'reportsLag', [])))
      const known = lags.filter((lag) => lag !== undefined)
      return known.length === 0 ? undefined : known.reduce((sum, lag) => sum + lag, 0)
    },
    async closeFigures() {
      throw new Error('The follower that removes the events closes the figures')
    },
    async close() {},
  }
}
