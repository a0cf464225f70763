import { randomUUID } from 'node:crypto'
import type { Utm } from '../gateway/campaigns/utm.ts'
import type { CampaignRow } from '../gateway/sqlite/campaignRows.ts'

/** An e-mail campaign, as its row. Only the events of customers with one are counted for reports. */
export const makeCampaignRow = (customer: string, tracking: Utm): CampaignRow => ({
  customer,
  id: randomUUID(),
  createdAt: 0,
  type: 'email',
  status: 'scheduled',
  sendAt: '2026-11-02 12:00',
  name: 'x',
  subjectLine: 'x',
  summary: JSON.stringify({ tracking }),
  content: new Uint8Array(),
})
