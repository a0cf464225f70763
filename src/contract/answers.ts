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

/** Orders, and what they add up to. */
export type SoldOrders = {
  readonly orders: number
  /** Their total values, decimal text with the digits of the currency: `"1234.50"`. Negative if refunds exceed sales. */
  readonly revenue: string
}

/** One day of a report, in its time zone. */
export type ReportDay = SoldOrders & {
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
 * Answer of getEmailReport: what visitors who came from a campaign did in the shop, and what they ordered. It counts
 * the events whose URL has the campaign's utm values, and the later events of the same device, for at most 7 days and
 * until that device comes with other utm values. An order counts for the last visit in the 7 days before it, of the
 * devices that gave its e-mail address.
 *
 * Bots are counted only in `bots`, unless the report includes them. Orders in another currency than `currency` are
 * counted only in `other_currencies` and in `funnel.order`.
 */
export type EmailReport = SoldOrders & {
  readonly campaign_id: string
  /** The time zone of the days, an IANA name: `Europe/Bucharest`. */
  readonly time_zone: string
  /** The currency of the amounts, ISO 4217: `EUR`. */
  readonly currency: string
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
    /** Devices whose visit is credited with an order. */
    readonly order: number
  }
  /** Every day from the first to the last event or order, days without any included. */
  readonly days: readonly ReportDay[]
  /**
   * `revenue` by `orders`, decimal text, rounded to the digits of the currency, halves away from zero. `"0.00"` without
   * orders.
   */
  readonly average_order: string
  /** `revenue` by `visitors`, like `average_order`. */
  readonly revenue_per_visitor: string
  /** The orders whose newest status is a refund, as the customer's settings name them. `revenue` above includes them. */
  readonly refunds: SoldOrders & { readonly statuses: { readonly [status: string]: SoldOrders } }
  /**
   * The orders by their newest status, trimmed and in lower case, most frequent first. `(none)` has those without a
   * status. Above 20 the rarest are added up as `(other)`.
   */
  readonly statuses: { readonly [status: string]: SoldOrders }
  /** The orders in other currencies, by their ISO 4217 code. */
  readonly other_currencies: { readonly [currency: string]: SoldOrders }
  /** What bots did, such as scanners of mails that open every link. */
  readonly bots: {
    /** Number of devices. */
    readonly visitors: number
    /** Number of events. */
    readonly events: number
    /** Whether all other figures include them. */
    readonly included: boolean
  }
}

/** Answer to an event. The same event sent again gets the same id. */
export type StoredEvent = { readonly id: string }

/**
 * Answer to an order, a status, a subscriber or an unsubscription. `stored` is false, and there is no `id`, if the gateway
 * already has it with the same content: then nothing was stored again.
 */
export type StoredCall = { readonly stored: true; readonly id: string } | { readonly stored: false }

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
