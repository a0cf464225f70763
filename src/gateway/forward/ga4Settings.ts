import {
  array,
  boolean,
  check,
  custom,
  type InferOutput,
  literal,
  maxEntries,
  maxLength,
  optional,
  picklist,
  pipe,
  record,
  regex,
  string,
  union,
} from 'valibot'
import { isBounded } from '../../contract/fields.ts'
import type { TrackingOperation } from '../../contract/index.ts'
import { MAX_REFUND_STATUSES, readRefundStatus } from '../customers/orderSettings.ts'
import { endpoint } from './endpoint.ts'
import { settingsObject } from './settingsObject.ts'

/** The longest value of most parameters, characters: what is longer is ignored by Google. */
const MAX_VALUE_CHARACTERS = 100

/** A text that is not longer than the value of a parameter may be. */
export const cut = (text: string): string => [...text].slice(0, MAX_VALUE_CHARACTERS).join('')

/** The most constant parameters. An event may have 25 in all. */
const MAX_PARAMS = 10

/** Names of events and parameters: letters, digits and underscores, at most 40. */
const NAME = /^[A-Za-z]\w{0,39}$/

/**
 * Event names that Google uses itself
 * (https://developers.google.com/analytics/devguides/collection/protocol/ga4/reference#reserved_event_names).
 */
const RESERVED_EVENTS = new Set(
  `ad_activeview ad_click ad_exposure ad_impression ad_query ad_reward adunit_exposure app_clear_data app_exception
  app_install app_remove app_store_refund app_update app_upgrade dynamic_link_app_open dynamic_link_app_update
  dynamic_link_first_open error firebase_campaign firebase_in_app_message_action firebase_in_app_message_dismiss
  firebase_in_app_message_impression first_open first_visit in_app_purchase notification_dismiss
  notification_foreground notification_open notification_receive notification_send os_update screen_view session_start
  user_engagement`.split(/\s+/),
)
const RESERVED_PARAMS = /^(firebase_|ga_|google_|gtag)/i

/** What has a name for Google. Subscribers are never sent: Google has no event for them, and they are only an address. */
export type Ga4Operation = TrackingOperation | 'saveOrder' | 'updateOrderStatus'

/** Whether Google takes an event of this name. */
export const isEventName = (name: string): boolean => NAME.test(name) && !RESERVED_EVENTS.has(name)

const EVENT_NAME =
  'Expected an event name: 1 to 40 letters, digits and underscores, a letter first, and not one that Google uses itself. Or false, and the operation is not sent'
const PARAM_NAME =
  'Expected a parameter name: 1 to 40 letters, digits and underscores, a letter first, not beginning with firebase_, ga_, google_ or gtag'
const PARAMS = 'Expected an object of parameters'
const STATUS = 'Expected a status of an order, such as "refunded"'
const STATUSES = `Expected a list of at most ${MAX_REFUND_STATUSES} statuses of orders`
const PARAM_VALUE = `Expected a number, or text of at most ${MAX_VALUE_CHARACTERS} characters`

const eventName = pipe(string(EVENT_NAME), check(isEventName, EVENT_NAME))
const mapped = optional(union([literal(false), eventName], EVENT_NAME))
const flag = optional(boolean('Expected true or false'))
const consent = optional(
  picklist(['GRANTED', 'DENIED'], 'Expected "GRANTED" or "DENIED", in capital letters'),
)

const names = {
  viewHomepage: mapped,
  setEmail: mapped,
  viewProduct: mapped,
  addToCart: mapped,
  removeFromCart: mapped,
  addToWishlist: mapped,
  removeFromWishlist: mapped,
  initiateCheckout: mapped,
  search: mapped,
  /** `true`: under its own name, in which other characters become underscores. */
  sendCustom: optional(
    union([boolean(), eventName], `${EVENT_NAME}. Or true, and it is sent under its own name`),
  ),
  saveOrder: mapped,
  /** Of a status that is one of `refundStatuses`. */
  updateOrderStatus: mapped,
} satisfies Record<Ga4Operation, unknown>

export const ga4Settings = settingsObject({
  measurementId: pipe(
    string('Expected the measurement id of a web data stream, such as G-ABC1234567'),
    regex(
      /^G-[A-Z\d]{4,20}$/,
      'Expected the measurement id of a web data stream, such as G-ABC1234567',
    ),
  ),
  apiSecret: pipe(
    string('Expected the API secret of the data stream'),
    regex(
      /^[\w-]{8,100}$/,
      'Expected the API secret of the data stream: 8 to 100 letters, digits, - and _',
    ),
  ),
  /** Origin of Google's server, or of another one that takes the same requests. */
  endpoint: optional(
    pipe(
      endpoint,
      check(
        (text) => URL.canParse(text) && new URL(text).pathname === '/' && !text.includes('?'),
        'Expected an address without a path, such as https://region1.google-analytics.com',
      ),
    ),
  ),
  events: optional(settingsObject(names)),
  itemId: optional(
    picklist(
      ['product_id', 'variation_id', 'sku'],
      'Expected "product_id", "variation_id" or "sku"',
    ),
  ),
  params: optional(
    pipe(
      custom<object>((value) => typeof value === 'object' && !Array.isArray(value), PARAMS),
      record(
        pipe(
          string(),
          check((name) => NAME.test(name) && !RESERVED_PARAMS.test(name), PARAM_NAME),
        ),
        custom<string | number>(
          (value) => Number.isFinite(value) || isBounded(value, MAX_VALUE_CHARACTERS),
          PARAM_VALUE,
        ),
        PARAMS,
      ),
      maxEntries(MAX_PARAMS, `Expected at most ${MAX_PARAMS} parameters`),
    ),
  ),
  /** Statuses of an order that are refunds. Default: those of the customer's settings. */
  refundStatuses: optional(
    pipe(
      array(
        pipe(
          string(STATUS),
          check((text) => readRefundStatus(text) !== undefined, STATUS),
        ),
        STATUSES,
      ),
      maxLength(MAX_REFUND_STATUSES, STATUSES),
    ),
  ),
  consent: optional(settingsObject({ ad_user_data: consent, ad_personalization: consent })),
  userData: flag,
  sendAddress: flag,
  validate: flag,
})

export type Ga4Destination = InferOutput<typeof ga4Settings>
