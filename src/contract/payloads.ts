/*
 * The payloads of the sixteen operations as plain types. They are those of the schemas (types.test.ts compares them).
 * They are written out, so that whoever uses the package needs no types of valibot.
 */

/** An operation whose payload has a device id. */
export type TrackingOperation =
  | 'viewHomepage'
  | 'setEmail'
  | 'viewProduct'
  | 'addToCart'
  | 'removeFromCart'
  | 'addToWishlist'
  | 'removeFromWishlist'
  | 'initiateCheckout'
  | 'search'
  | 'sendCustom'

/** The fields of every tracking event. */
export type PageEvent = {
  /** The device id, text of 1 to 128 characters. */
  did: string
  /** The event's name, text of 1 to 128 characters. */
  event: string
  /** The page, http or https, at most 8,192 characters. */
  url: string
  /** The visitor's user agent. Cut after 1,024 characters. */
  http_user_agent: string
  /** The visitor's IP address, text of 1 to 2,048 characters. */
  remote_addr: string
  /** Where the event comes from; the shop chooses the text. */
  source?: string | null | undefined
}

/** A product line. */
export type LineEvent = PageEvent & {
  /** A whole number from 1. */
  product_id: number
  /** A whole number from 1. */
  quantity: number
  /** For a product without variations, both are its id as text. */
  variation: { id: string; sku: string }
}

type EventPayloads = {
  viewHomepage: PageEvent
  /** All texts but the address may be empty. */
  setEmail: PageEvent & {
    email_address: string
    firstname: string
    lastname: string
    phone: string
  }
  viewProduct: PageEvent & { product_id: string }
  addToCart: LineEvent
  removeFromCart: LineEvent
  addToWishlist: LineEvent
  removeFromWishlist: LineEvent
  initiateCheckout: PageEvent
  search: PageEvent & { search_term: string }
  sendCustom: PageEvent & { email: string }
}

/** A payload as it is stored: complete and converted. */
export type EventPayload<O extends TrackingOperation> = EventPayloads[O]

type LineOperation = 'addToCart' | 'removeFromCart' | 'addToWishlist' | 'removeFromWishlist'

/** A product line as a caller may give it: the product_id may also be its digits. */
export type LineInput = Omit<LineEvent, 'product_id'> & { product_id: number | `${number}` }

type EventInputs = Omit<EventPayloads, LineOperation> & { [O in LineOperation]: LineInput }

/** A payload as a caller may give it. */
export type EventInput<O extends TrackingOperation> = EventInputs[O]

/** The filters of list, each text. An empty one, or one that is null, is not sent. */
export type CampaignFilter = {
  filters?: string | null | undefined
  search?: string | null | undefined
  type?: string | null | undefined
  start_date?: string | null | undefined
  /** Number of the page, from 1. */
  page?: string | null | undefined
  /** The most campaigns on a page, 1 to 100. */
  limit?: string | null | undefined
}

/** The body of create. Texts are 1 to 2,048 characters and not blank, if nothing else is said. */
export type Campaign = {
  type: 'sms' | 'email' | 'push'
  mode: 'ecommerce' | 'regular' | 'plaintext'
  /** `sender` and `reply_to` are e-mail addresses. */
  sender: { name: string; sender: string; reply_to: string }
  audience: { audience_type: 'all'; smart_sending: boolean }
  subject: { name: string; subject_line: string; preview_text: string }
  /** At most 512,000 characters. */
  content: { html: string }
  /** `send_at` is `YYYY-MM-DD HH:MM`. */
  scheduling: { send_at: string; use_optimal_time: 0 | 1; optimize_for: 'opening' | 'buying' }
  tracking: { utm_campaign: string; utm_medium: string; utm_source: string }
}

/** A custom event without a visitor. `event` is text of 1 to 128 characters. */
export type CustomApiEvent = { email: string; event: string }

/** The clean payloads of all operations. */
type Payloads = EventPayloads & {
  list: { [F in keyof CampaignFilter]?: string | undefined }
  create: Campaign
  getEmailReport: { id: string }
  /** A whole number from 1. */
  getLatestCampaign: { limit?: number | null | undefined }
  sendCustomApi: CustomApiEvent
  serveJavascript: { trackingKey: string }
}

/** The name of an operation. */
export type Operation = keyof Payloads

/** The clean payload of an operation: converted, with only the keys that its schema names. */
export type Payload<O extends Operation> = Payloads[O]
