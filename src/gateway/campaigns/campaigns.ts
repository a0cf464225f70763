import type { CampaignRecord } from '../../contract/index.ts'
import type { Usage } from '../customers/usage.ts'

/** A campaign without its HTML, which may be two megabytes. */
export type CampaignHead = Omit<CampaignRecord, 'content'>

/** Which campaigns, already clean. */
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

/** How long a campaign is as JSON. */
export type CampaignSize = { readonly id: string; readonly bytes: number }

/**
 * The campaigns of all customers. Each but `findJson` rejects with TooMany, having done nothing, where a
 * customer asks faster than is answered.
 */
export type Campaigns = {
  /**
   * Resolves when the campaign is durable. An id that the customer already has stays what it was. Rejects
   * with Unavailable where it can not be stored.
   *
   * @returns What the customer has stored today.
   */
  create(customer: string, campaign: CampaignRecord): Promise<readonly Usage[]>
  find(customer: string, id: string): Promise<CampaignRecord | undefined>
  /**
   * Several as JSON, UTF-8, with commas between them, for who only hands them on; those that are not there
   * are left out. It waits for its turn as long as that takes: the caller bounds how many are asked for.
   */
  findJson(customer: string, ids: readonly string[]): Promise<Uint8Array>
  /** One without its HTML. */
  findHead(customer: string, id: string): Promise<CampaignHead | undefined>
  /** Newest first. `total` counts the campaigns of all pages. */
  list(
    customer: string,
    query: CampaignQuery,
  ): Promise<{ readonly heads: readonly CampaignHead[]; readonly total: number }>
  /** The same page of the list, when it is to be known how much that is. */
  listSizes(
    customer: string,
    query: CampaignQuery,
  ): Promise<{ readonly sizes: readonly CampaignSize[]; readonly total: number }>
  /** Whether any customer has a campaign that can have a report. */
  hasEmail(): Promise<boolean>
}
