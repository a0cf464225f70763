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
  /**
   * Resolves when the campaign is durable. An id that the customer already has stays what it was. Rejects
   * with Unavailable where it can not be stored.
   */
  create(customer: string, campaign: CampaignRecord): Promise<void>
  find(customer: string, id: string): Promise<CampaignRecord | undefined>
  /** The same as JSON, UTF-8: for who only hands it on. */
  findJson(customer: string, id: string): Promise<Uint8Array | undefined>
  /** The same without the HTML. */
  findHead(customer: string, id: string): Promise<CampaignHead | undefined>
  /** Newest first. `total` counts the campaigns of all pages. */
  list(
    customer: string,
    query: CampaignQuery,
  ): Promise<{ readonly heads: readonly CampaignHead[]; readonly total: number }>
  /** Whether any customer has a campaign that can have a report. */
  hasEmail(): Promise<boolean>
}
