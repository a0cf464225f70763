import type { Campaign } from './campaigns.ts'

/** Where a campaign stands. The gateway sends no mail, so it knows one state. */
export type CampaignStatus = 'scheduled'

/** A campaign as the gateway keeps and answers it (docs/decisions.md, "Campaigns"). */
export type CampaignRecord = Campaign & {
  readonly id: string
  readonly status: CampaignStatus
  /** When it was created, ISO 8601 in UTC. */
  readonly created_at: string
}

/** Answer of list: one page, newest first. */
export type CampaignList = {
  readonly data: readonly CampaignRecord[]
  /** From 1. */
  readonly page: number
  /** Campaigns a page, 1 to 100. */
  readonly limit: number
  /** Campaigns on all pages together. */
  readonly total: number
}

/** A day of a report, in UTC. */
export type ReportDay = {
  /** YYYY-MM-DD. */
  readonly date: string
  /** Devices with an event on that day. */
  readonly visitors: number
  /** Events of the operation addToCart. */
  readonly add_to_cart: number
  /** Events of the operation initiateCheckout. */
  readonly initiate_checkout: number
}

/**
 * Answer of getEmailReport: what the visits of a campaign did on the shop. Counted are the events whose
 * URL carries the campaign's utm values, and the later events of the same device until a visit with other
 * ones, at most 7 days.
 */
export type EmailReport = {
  readonly campaign_id: string
  /** First day of `days`; null where nothing came. */
  readonly from: string | null
  /** Last day of `days`; null where nothing came. */
  readonly to: string | null
  /** Devices. */
  readonly visitors: number
  /** Devices of which an e-mail address is known from these events. */
  readonly identified: number
  /** Events by event name, most first; of more than 100 names the rarest are one, `(other)`. */
  readonly events: { readonly [event: string]: number }
  /** Devices that came as far as each step. */
  readonly funnel: {
    readonly view_product: number
    readonly add_to_cart: number
    readonly initiate_checkout: number
  }
  /** Every day from the first to the last with an event, without a gap. */
  readonly days: readonly ReportDay[]
  /**
   * Days (UTC, YYYY-MM-DD) on which events of the shop arrived that may be missing in these figures, oldest
   * first, the newest 31 at most: the shop had more new devices on such a day than a report counts, or, before
   * the campaign was created, more different utm values. Absent where there are none.
   */
  readonly incomplete_days?: readonly string[]
}

/** Answer to an event: its id, the first time and every time after. */
export type StoredEvent = { readonly id: string }

/** Answer of serveJavascript to a caller that asks for JSON. */
export type ServedScript = {
  readonly trackingKey: string
  readonly version: string
  /** Of `script`, for the attribute of a tag: `sha384-…`. */
  readonly integrity: string
  /** The key's public configuration. */
  readonly config: { readonly [name: string]: unknown }
  /** JavaScript. */
  readonly script: string
}
