import type { CampaignRecord, CampaignSummary } from '../../contract/index.ts'
import type { Usage } from '../customers/usage.ts'

/** Which campaigns to list. */
export type CampaignQuery = {
  /** Part of the name or the subject line (of their first 1,000 characters), in any case. Default all. */
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

/**
 * The campaigns of all customers. Each function rejects with Unavailable if the store can not be read or written. It
 * rejects with TooMany, and does nothing, if there are too many calls at once.
 */
export type Campaigns = {
  /**
   * Resolves when the campaign is durable. A campaign whose id the customer already has is not changed.
   *
   * @returns How much the customer has stored today.
   */
  create(customer: string, campaign: CampaignRecord): Promise<readonly Usage[]>
  /** A CampaignRecord as JSON, UTF-8: its HTML may be 2 MB, so it is sent as it was stored. */
  find(customer: string, id: string): Promise<Uint8Array | undefined>
  findSummary(customer: string, id: string): Promise<CampaignSummary | undefined>
  /** Newest first. `total` counts the campaigns of all pages. */
  list(
    customer: string,
    query: CampaignQuery,
  ): Promise<{ readonly summaries: readonly CampaignSummary[]; readonly total: number }>
  /** Whether any customer has an e-mail campaign: only these have reports. */
  hasEmail(): Promise<boolean>
}
