import { setImmediate } from 'node:timers/promises'
import { weigh } from '../collect/eventLog.ts'
import { createSqliteCustomers } from '../sqlite/customers.ts'
import { openForwardLog } from '../sqlite/forwardLog.ts'
import { type Placed, type Source, STEP_BYTES, STEP_RECORDS } from './source.ts'

/**
 * Reads events.db. Each step is a read of its own, so that it holds up neither the writers nor the removal of events.
 *
 * @param customersFile Path of customers.db. It exists.
 * @param eventsFile Path of events.db. It exists.
 */
export function openSqliteSource(
  customersFile: string,
  eventsFile: string,
  customer: string,
): Source {
  const log = openForwardLog(eventsFile)

  async function isKnown(): Promise<boolean> {
    const customers = createSqliteCustomers(customersFile)
    try {
      // Events of a customer that was removed are kept.
      return customers.find(customer) !== undefined || customers.isRetired(customer)
    } finally {
      customers.close()
    }
  }

  function readStep(after: number, upTo: number) {
    const records: Placed[] = []
    let bytes = 0
    let [rows, last] = [0, after]
    for (const { seq, ...record } of log.read(customer, after, STEP_RECORDS)) {
      if (seq > upTo) break
      rows++
      last = seq
      // It was removed.
      if (record.operation === '') continue
      records.push({ position: seq, record })
      bytes += weigh(record)
      if (bytes >= STEP_BYTES) break
    }
    const isLast = rows < STEP_RECORDS && bytes < STEP_BYTES
    return { records, upTo: isLast ? upTo : last }
  }

  return {
    mayRepeat: false,
    isKnown,
    async *removed() {},
    end: async () => log.end().seq,
    before: async (time) => log.before(customer, time).seq,
    mark: async (position) => JSON.stringify(log.at(position)),
    async isOf(mark) {
      const position = JSON.parse(mark)
      return log.locate(customer, position) === position
    },
    async *read(after, upTo) {
      for (let done = after; done < upTo; ) {
        const step = readStep(done, upTo)
        yield step
        done = step.upTo
        // For signals.
        await setImmediate()
      }
    },
    close: async () => log.close(),
  }
}
