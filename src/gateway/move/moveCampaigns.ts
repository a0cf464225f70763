import { delay } from '@nats-io/transport-node'
import { Unavailable } from '../lib/unavailable.ts'
import { createAsk } from '../nats/ask.ts'
import type { Broker } from '../nats/broker.ts'
import { createNatsCampaigns } from '../nats/campaigns.ts'
import { joinCampaign } from '../sqlite/campaignRows.ts'
import type { MoveSource } from './source.ts'

/** How long the cluster may be away, ms. */
const PATIENCE_MS = 60_000
const RETRY_MS = 1_000

/** Stores the campaigns in the cluster, in order. One that is there already is not changed. */
export async function moveCampaigns(
  source: MoveSource,
  broker: Broker,
  signal: AbortSignal,
): Promise<void> {
  const campaigns = createNatsCampaigns(broker, createAsk(broker.nc))
  for (const { customer, head, content } of source.campaigns()) {
    if (signal.aborted) return
    const campaign = JSON.parse(Buffer.from(joinCampaign(head, content)).toString())
    const until = performance.now() + PATIENCE_MS
    for (;;) {
      try {
        await campaigns.create(customer, campaign)
        break
      } catch (error) {
        if (!(error instanceof Unavailable) || performance.now() > until) throw error
        await delay(RETRY_MS)
      }
    }
  }
}
