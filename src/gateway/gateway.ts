import type { Campaigns } from './campaigns/campaigns.ts'
import type { EventLog } from './collect/eventLog.ts'
import type { Customers } from './customers/customers.ts'
import type { Forwarding } from './forward/forwarding.ts'
import type { StopOptions, StopState } from './stop.ts'

/** A gateway that listens. */
export type Gateway = {
  readonly port: number
  /** Its address on this machine, without a slash at its end. */
  readonly url: string
  /** Why it is not ready; undefined if it is. */
  readonly findUnready: () => string | undefined
  /**
   * Whether the data is open. It is not while the databases are not those of the last start: then every request is
   * answered 503, and the properties below that need the data throw an Error with the reason.
   */
  readonly isOpen: () => boolean
  readonly customers: Customers
  readonly log: EventLog
  readonly campaigns: Campaigns
  readonly forwarding: Forwarding
  /** Address of GET /metrics on its own port. Undefined without that port. */
  readonly metricsUrl: string | undefined
  /** Number of streams in the cluster. Undefined without one, and while the data is not open. */
  readonly partitions: number | undefined
  /** Whether the demo is served. */
  readonly demo: boolean
  /** Why the demo can not be served here, see `findDemoBlock`. Undefined if it can. */
  readonly demoBlock: string | undefined
  /** The REST key of the demo customer, if this start has created it. */
  readonly demoRestKey: string | undefined
  /**
   * Becomes unready and ends the live views' streams. After the drain it accepts no more requests, answers the open
   * ones, stores the accepted events, then closes everything. Later calls return the promise of the first one.
   */
  close(options?: StopOptions): Promise<void>
  /** What a stop still waits for. */
  describeStop(): Promise<StopState>
}
