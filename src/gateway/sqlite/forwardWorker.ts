import { parentPort, workerData } from 'node:worker_threads'
import { KINDS } from '../forward/kinds.ts'
import { createStateNews, type StateNews } from '../forward/stateNews.ts'
import { openCustomerIds } from './customerIds.ts'
import { createDestinations, type Destinations } from './destinations.ts'
import { createLagCounter } from './forwardLag.ts'
import { openForwardLog } from './forwardLog.ts'
import { startRunner } from './forwardRunner.ts'
import { openForwardStore } from './forwardStore.ts'
import { messageOf, serve } from './remote.ts'

/** The files of the forwarding. */
export type ForwardFiles = {
  readonly forwardFile: string
  readonly eventsFile: string
  readonly customersFile: string
  /** Folder for files that destinations write. */
  readonly folder: string
}

/** The `workerData` of the thread. */
export type ForwardStart = ForwardFiles & {
  /** Owner of its leases: the same for a thread that takes the place of one that has ended. */
  readonly owner: string
}

/** The functions of the thread. */
export type Served = Destinations & { close(): Promise<void> }

/** A message to the thread that has started this one: an error, after which the forwarding continues, or news. */
export type ForwardReport = { readonly report: string } | { readonly news: StateNews }

/** Time between two reports of the same error, ms. */
const REPORT_MS = 60_000

/** The thread that forwards, so that no destination slows the gateway. */
const { forwardFile, eventsFile, customersFile, folder, owner } = workerData as ForwardStart
let reported = ''
let reportedAt = Number.NEGATIVE_INFINITY
function report(error: unknown): void {
  const message = messageOf(error)
  if (message === reported && performance.now() - reportedAt < REPORT_MS) return
  reported = message
  reportedAt = performance.now()
  parentPort?.postMessage({ report: message } satisfies ForwardReport)
}

const log = openForwardLog(eventsFile)
const store = openForwardStore(forwardFile)
const customers = openCustomerIds(customersFile)
const runner = startRunner({
  store,
  log,
  kinds: KINDS,
  isCustomer: customers.has,
  refundStatuses: customers.refundStatuses,
  folder,
  owner,
  // Looked up at each request.
  fetch: (...args) => fetch(...args),
  now: Date.now,
  onState: createStateNews(Date.now, (news) =>
    parentPort?.postMessage({ news } satisfies ForwardReport),
  ),
  onError: report,
})
const countAfter = createLagCounter(log, Date.now)
const destinations = createDestinations({
  store,
  log,
  kinds: KINDS,
  isCustomer: customers.has,
  now: Date.now,
  countAfter: ({ id, customer }, seq) => countAfter(id, customer, seq),
})

/** Runs a change, and carries it out at once. */
const changing =
  <Args extends unknown[], Result>(change: (...args: Args) => Result) =>
  (...args: Args): Result => {
    const result = change(...args)
    runner.look()
    return result
  }

serve<Served>({
  ...destinations,
  add: changing(destinations.add),
  change: changing(destinations.change),
  remove: changing(destinations.remove),
  replay: changing(destinations.replay),
  async close() {
    await runner.stop()
    store.close()
    log.close()
    customers.close()
  },
})
