import type { CampaignSummary } from '../../../../contract/index.ts'
import type { StartTask } from '../task.ts'

/** Lists campaigns from the copy of a partition, with every campaign that is durable when the question comes. */
export const startCampaigns: StartTask = async ({ copy: { thread }, campaigns }) => ({
  answers: {
    async listCampaigns(customer, query) {
      await campaigns.catchUp()
      const { summaries, total } = await thread.call('listCampaigns', customer, query)
      return { summaries: summaries.map((json): CampaignSummary => JSON.parse(json)), total }
    },
  },
  async stop() {},
})
