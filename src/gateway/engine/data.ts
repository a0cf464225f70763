import type { Campaigns } from '../campaigns/campaigns.ts'
import type { Reports } from '../campaigns/report.ts'
import type { DaySalt } from '../collect/daySalt.ts'
import type { EventLog } from '../collect/eventLog.ts'
import type { ExpiredEvents } from '../collect/expiredEvents.ts'
import type { Customers } from '../customers/customers.ts'
import type { Forwarding } from '../forward/forwarding.ts'
import type { ForwardFigures } from '../http/forwardMetrics.ts'
import type { Sessions } from '../operators/sessions.ts'
import type { Orders } from '../orders/orders.ts'
import type { People } from '../people/people.ts'
import type { CountStore } from '../problems/problems.ts'
import type { PinnedScripts } from '../script/pinnedScripts.ts'

/** Everything that a gateway stores, whatever the engine. */
export type Data = {
  readonly customers: Customers
  readonly pinned: PinnedScripts
  readonly sessions: Sessions
  readonly log: EventLog & { readonly depth: () => number }
  readonly campaigns: Campaigns
  readonly orders: Orders
  readonly reports: Reports
  readonly daySalt: DaySalt
  readonly people: People
  readonly forwarding: Forwarding & { figures(): Promise<readonly ForwardFigures[]> }
  readonly counts: CountStore
  /** The removal of events whose retention is over. Undefined if the engine does it by itself. */
  readonly expiredEvents: ExpiredEvents | undefined
  /**
   * Resolves when every change of customers, sessions and pinned scripts that was made before the call is durable, and
   * on its way to the other gateways. Rejects with Unavailable if that is not known; the change is then repeated or
   * undone.
   */
  saved(): Promise<void>
  /** Why the gateway is not ready; undefined if it is. */
  findFault(): string | undefined
  /** Stores the accepted events, then closes everything. */
  close(): Promise<void>
}
