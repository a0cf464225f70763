import { type Campaigns, createCampaigns } from './campaigns.ts'
import { createEvents, type Events } from './events.ts'
import { createOperate } from './operate.ts'
import type { Settings } from './options.ts'
import { createOrders, type Orders } from './orders.ts'
import { createProblems, type Problems } from './problems.ts'
import { createSubscribers, type Subscribers } from './subscribers.ts'

/** The operations of the service, and the problems of this gateway. */
export type Client = {
  readonly campaigns: Campaigns
  readonly events: Events
  readonly orders: Orders
  readonly problems: Problems
  readonly subscribers: Subscribers
}

/** Creates a client from checked settings. */
export function createClientOf(settings: Settings): Client {
  const operate = createOperate(settings)
  return {
    campaigns: createCampaigns(operate, settings),
    events: createEvents(operate, settings),
    orders: createOrders(operate, settings),
    problems: createProblems(settings),
    subscribers: createSubscribers(operate, settings),
  }
}
