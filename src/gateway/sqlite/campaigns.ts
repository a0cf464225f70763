import type { CampaignSummary } from '../../contract/index.ts'
import type { Campaigns } from '../campaigns/campaigns.ts'
import { createSemaphore } from '../http/semaphore.ts'
import { toCampaignRow } from './campaignRows.ts'
import type { Call } from './remote.ts'
import type { Store } from './store.ts'

/**
 * Calls about campaigns that the thread carries out or has in its queue. Appends of events wait for them. One customer
 * gets one permit.
 */
const CALLS = {
  permits: 2,
  maxWaiting: 1_000,
  waitMs: 5_000,
  message: 'Too many campaigns are being read and written',
}

/** Campaigns in the SQLite file of the events, by the thread that writes it. */
export function createSqliteCampaigns(call: Call<Store>): Campaigns {
  const calls = createSemaphore(CALLS)

  async function inTurn<Result>(customer: string, run: () => Promise<Result>): Promise<Result> {
    const release = await calls.acquire(customer)
    try {
      return await run()
    } finally {
      release()
    }
  }

  return {
    create: (customer, campaign) =>
      inTurn(customer, () => call('createCampaign', toCampaignRow(customer, campaign))),
    find: (customer, id) => inTurn(customer, () => call('findCampaign', customer, id)),
    async findSummary(customer, id) {
      const json = await inTurn(customer, () => call('findCampaignSummary', customer, id))
      return json === undefined ? undefined : parse(json)
    },
    async list(customer, query) {
      const listed = await inTurn(customer, () => call('listCampaigns', customer, query))
      return { summaries: listed.summaries.map(parse), total: listed.total }
    },
    hasEmail: () => call('hasEmail'),
  }
}

const parse = (json: string): CampaignSummary => JSON.parse(json)
