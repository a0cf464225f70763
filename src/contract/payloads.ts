/*
 * The payloads of all operations as plain types. They are those of the schemas (types.test.ts compares them).
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

/** Which report getEmailReport reads. */
export type ReportQuery = {
  /** The campaign's id. */
  id: string
  /** Whether the figures include bots. Default: `exclude`. */
  bots?: 'include' | 'exclude' | null | undefined
}

/** A custom event without a visitor. `event` is text of 1 to 128 characters. */
export type CustomApiEvent = { email: string; event: string }

type Optional<T> = T | null | undefined

/** An amount of money: a number, or text such as `1234.5`, `1,234.50` or `-5.00`. */
export type Amount = number | string

/**
 * A product of an order. Ids and SKUs may be whole numbers, which become text. Texts are at most 2,048 characters, an id
 * 1 to 128 and not blank.
 */
export type OrderProduct = {
  product_id: string | number
  /** The price of one. */
  price: Amount
  /** From 0, also with a fraction; text with at most 6 decimals. */
  quantity: number | string
  variation_sku?: Optional<string | number>
}

/**
 * An order as a shop's server sends it. Optional fields may be missing, null or blank; an optional amount then is 0.
 * Numbers in place of text become text. Texts are at most 2,048 characters.
 */
export type Order = {
  /** Identifies the order in this shop. Text of 1 to 128 characters, not blank, or a whole number. */
  number: string | number
  /** The customer's. The order counts for the campaign that this address came from. */
  email_address?: Optional<string>
  phone?: Optional<string | number>
  firstname?: Optional<string | number>
  lastname?: Optional<string | number>
  city?: Optional<string | number>
  county?: Optional<string | number>
  address?: Optional<string | number>
  discount_value?: Optional<Amount>
  discount_code?: Optional<string | number>
  shipping?: Optional<Amount>
  tax?: Optional<Amount>
  total_value: Amount
  /** At most 500. */
  products: readonly OrderProduct[]
}

/** The new status of an order. Both are text of 1 to 128 characters that is not blank, or a whole number. */
export type OrderStatus = {
  order_number: string | number
  /** A slug, a state, or the shop's own name in any language. */
  order_status: string | number
}

/** A list of texts of at most 128 characters, or one text in which commas separate them. */
export type TextList = string | readonly (string | number)[]

/** Who subscribes to a newsletter. Optional fields may be missing, null or blank. Texts are at most 2,048 characters. */
export type Subscriber = {
  email: string
  name?: Optional<string | number>
  firstname?: Optional<string | number>
  lastname?: Optional<string | number>
  phone?: Optional<string | number>
  /** At most 100. */
  add_tags?: Optional<TextList>
  city?: Optional<string | number>
  country?: Optional<string | number>
  /** `YYYY-MM-DD`, also with ` 00:00:00`. `0000-00-00` is none. */
  birthday?: Optional<string>
  /** At most 20. */
  channels?: Optional<TextList>
  /** At most 100 names of 1 to 128 characters. */
  attributes?: Optional<{ readonly [name: string]: Optional<string | number | boolean> }>
}

/** Who unsubscribes, from all channels or from some. */
export type Unsubscriber = {
  email: string
  /** At most 20. Default: all. */
  channels?: Optional<TextList>
}

/** When addresses were unsubscribed. Both ends are part of it, and one that is missing is open. */
export type UnsubscribedPeriod = {
  /** Seconds since 1970, or a day as `YYYY-MM-DD` in the customer's time zone. */
  date_from?: Optional<string | number>
  /** The same. */
  date_to?: Optional<string | number>
}

/** An order as it is stored: complete, with its amounts as text and as minor units of the currency. */
export type OrderPayload = {
  number: string
  /** Empty if the shop has none, like the texts below. */
  email_address: string
  phone: string
  firstname: string
  lastname: string
  city: string
  county: string
  address: string
  /** Decimal text with the fraction digits of the currency: `1234.50`, `-5.00`. */
  discount_value: string
  discount_code: string
  shipping: string
  tax: string
  total_value: string
  products: {
    product_id: string
    price: string
    quantity: number
    variation_sku: string
    price_minor: number
  }[]
  /** ISO 4217, the customer's setting when the order was saved. */
  currency: string
  /** The amounts in minor units, such as cents. */
  minor: { discount_value: number; shipping: number; tax: number; total_value: number }
}

/** The clean payloads of what only a shop's server sends. */
type ServerPayloads = {
  /** Amounts are as given; `toStoredOrder` reads them in the customer's currency. */
  saveOrder: {
    number: string
    email_address?: string | undefined
    phone?: string | undefined
    firstname?: string | undefined
    lastname?: string | undefined
    city?: string | undefined
    county?: string | undefined
    address?: string | undefined
    discount_value?: Amount | undefined
    discount_code?: string | undefined
    shipping?: Amount | undefined
    tax?: Amount | undefined
    total_value: Amount
    products: {
      product_id: string
      price: Amount
      quantity: number
      variation_sku?: string | undefined
    }[]
  }
  updateOrderStatus: { order_number: string; order_status: string }
  addSubscriber: {
    email: string
    name?: string | undefined
    firstname?: string | undefined
    lastname?: string | undefined
    phone?: string | undefined
    add_tags?: string[] | undefined
    city?: string | undefined
    country?: string | undefined
    birthday?: string | undefined
    channels?: string[] | undefined
    attributes?: { [name: string]: string | number | boolean } | undefined
  }
  removeSubscriber: { email: string; channels?: string[] | undefined }
  unsubscribedEmails: { date_from?: string | undefined; date_to?: string | undefined }
}

/** The clean payloads of all operations. */
type Payloads = EventPayloads &
  ServerPayloads & {
    list: { [F in keyof CampaignFilter]?: string | undefined }
    create: Campaign
    getEmailReport: ReportQuery
    /** A whole number from 1. */
    getLatestCampaign: { limit?: number | null | undefined }
    sendCustomApi: CustomApiEvent
    serveJavascript: { trackingKey: string }
  }

/** The name of an operation. */
export type Operation = keyof Payloads

/** The clean payload of an operation: converted, with only the keys that its schema names. */
export type Payload<O extends Operation> = Payloads[O]
