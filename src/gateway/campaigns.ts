import type { CampaignRecord } from '../contract/index.ts'

/** A campaign without its HTML, which may be two megabytes. */
export type CampaignHead = Omit<CampaignRecord, 'content'>

/** Which campaigns, already clean. */
export type CampaignQuery = {
  /** Part of the name or the subject line, in any case. Default all. */
  readonly search?: string
  /** The channel. Default all. */
  readonly type?: string
  /** Only those scheduled on or after this day, YYYY-MM-DD. */
  readonly startDate?: string
  /** Only those in one of these states. Default all. */
  readonly statuses?: readonly string[]
  /** From 1. */
  readonly page: number
  /** Campaigns a page, from 1. */
  readonly limit: number
}

/** The campaigns of all customers. */
export type Campaigns = {
  /** Resolves when the campaign is durable. Rejects with Unavailable where it can not be stored. */
  create(customer: string, campaign: CampaignRecord): Promise<void>
  find(customer: string, id: string): Promise<CampaignRecord | undefined>
  /** Newest first. `total` counts the campaigns of all pages. */
  list(
    customer: string,
    query: CampaignQuery,
  ): Promise<{ readonly heads: readonly CampaignHead[]; readonly total: number }>
}
