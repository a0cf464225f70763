import type { Campaign } from './payloads.ts'

/** The state of a campaign. There is only one, because the gateway sends no mail. */
export type CampaignStatus = 'scheduled'

/** A campaign as the gateway stores and returns it (docs/decisions.md, "Campaigns"). */
export type CampaignRecord = Campaign & {
  readonly id: string
  readonly status: CampaignStatus
  /** When it was created, ISO 8601 in UTC. */
  readonly created_at: string
}

/** A campaign of a list: without its HTML, which may be 2 MB. */
export type CampaignSummary = Omit<CampaignRecord, 'content'>

/** Answer of list: one page of campaigns, newest first. */
export type CampaignList = {
  readonly data: readonly CampaignSummary[]
  /** Number of the page, from 1. */
  readonly page: number
  /** The most campaigns on a page, 1 to 100. */
  readonly limit: number
  /** Number of campaigns on all pages. */
  readonly total: number
}

/** One day (UTC) of a report. */
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
 * Answer of getEmailReport: what visitors who came from a campaign did in the shop. It counts the events whose URL
 * has the campaign's utm values, and the later events of the same device, for at most 7 days and until that device
 * comes with other utm values.
 */
export type EmailReport = {
  readonly campaign_id: string
  /** First day of `days`, null if there is none. */
  readonly from: string | null
  /** Last day of `days`, null if there is none. */
  readonly to: string | null
  /** Number of devices. */
  readonly visitors: number
  /** Number of devices for which these events contain an e-mail address. */
  readonly identified: number
  /** Number of events by event name, most frequent first. Above 100 names the rarest are counted as `(other)`. */
  readonly events: { readonly [event: string]: number }
  /** Number of devices that reached each step. */
  readonly funnel: {
    readonly view_product: number
    readonly add_to_cart: number
    readonly initiate_checkout: number
  }
  /** Every day from the first to the last event, days without events included. */
  readonly days: readonly ReportDay[]
}

/** Answer to an event. The same event sent again gets the same id. */
export type StoredEvent = { readonly id: string }

/** Answer of serveJavascript to a request that accepts JSON. */
export type ServedScript = {
  readonly trackingKey: string
  readonly version: string
  /** For the `integrity` attribute of a tag with `script`: `sha384-…`. */
  readonly integrity: string
  /** The public settings of the tracking key. */
  readonly config: { readonly [name: string]: unknown }
  /** JavaScript. */
  readonly script: string
}
