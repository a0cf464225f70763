import { workerData } from 'node:worker_threads'
import { KINDS } from '../forward/kinds.ts'
import { openCustomerIds } from './customerIds.ts'
import { createDestinations, type Destinations } from './destinations.ts'
import { openForwardLog } from './forwardLog.ts'
import { openForwardStore } from './forwardStore.ts'
import { serve } from './remote.ts'

/** The files of the forwarding. */
export type ForwardFiles = {
  readonly forwardFile: string
  readonly eventsFile: string
  readonly customersFile: string
  /** Folder for files that destinations write. */
  readonly folder: string
}

/** The functions of the thread. */
export type Served = Destinations & { close(): void }

/** The thread that forwards, so that no destination slows the gateway. */
const { forwardFile, eventsFile, customersFile } = workerData as ForwardFiles
const log = openForwardLog(eventsFile)
const store = openForwardStore(forwardFile)
const customers = openCustomerIds(customersFile)

serve<Served>({
  ...createDestinations({
    store,
    log,
    kinds: KINDS,
    isCustomer: customers.has,
    now: Date.now,
  }),
  close() {
    store.close()
    log.close()
    customers.close()
  },
})
