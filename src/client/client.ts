import { type Campaigns, createCampaigns } from './campaigns.ts'
import { createEvents, type Events } from './events.ts'
import { createOperate } from './operate.ts'
import type { Settings } from './options.ts'
import { createProblems, type Problems } from './problems.ts'

/** The sixteen operations of the service, and the problems of this gateway. */
export type Client = {
  readonly campaigns: Campaigns
  readonly events: Events
  readonly problems: Problems
}

/** Creates a client from checked settings. */
export function createClientOf(settings: Settings): Client {
  const operate = createOperate(settings)
  return {
    campaigns: createCampaigns(operate, settings),
    events: createEvents(operate, settings),
    problems: createProblems(settings),
  }
}
