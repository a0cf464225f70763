import { type Client, createClientOf } from './client.ts'
import { type ClientOptions, readClientOptions } from './options.ts'

export {
  type Amount,
  ApiException,
  type ApiFailure,
  type Campaign,
  type CampaignFilter,
  type CampaignList,
  type CampaignRecord,
  type CampaignStatus,
  type CampaignSummary,
  type Coverage,
  type CustomApiEvent,
  CustomerNotFoundException,
  type EmailReport,
  type EventInput,
  type EventPayload,
  type Issue,
  MethodNotAllowedException,
  type Order,
  type OrderProduct,
  type OrderStatus,
  type Problem,
  type ProblemList,
  type ProblemReason,
  type ReportDay,
  type ReportQuery,
  type ServedScript,
  type SoldOrders,
  type StoredCall,
  type StoredEvent,
  type Subscriber,
  type TextList,
  type TrackingOperation,
  UnauthorizedException,
  type UnsubscribedPeriod,
  type Unsubscriber,
  ValidationException,
} from '../contract/index.ts'
export type { Campaigns } from './campaigns.ts'
export type { Client } from './client.ts'
export type { Events, Named } from './events.ts'
export type { ByteStream, Fetch, FetchedAnswer, FetchInit } from './fetch.ts'
export type { CallOptions, ClientOptions } from './options.ts'
export type { Orders } from './orders.ts'
export type { Problems } from './problems.ts'
export type { Signal } from './signal.ts'
export type { Subscribers } from './subscribers.ts'

/**
 * Creates a client of the service, for a shop's server. It must not run in a page, because it has the restKey.
 *
 * It runs in every runtime with fetch and AbortSignal.timeout, and keeps nothing open between calls. A call that fails
 * is repeated if that is safe, after a random wait of up to 500 ms, then up to 1 s and so on, up to 10 s. If the
 * answer has `Retry-After`, the wait is that time (up to 60 s) and the random one.
 *
 * @throws ValidationException with every issue of the options: a missing or blank credential, an unknown option.
 * @example
 * import { createClient } from 'shoptrail/client'
 *
 * const client = createClient({
 *   customerId: process.env.CUSTOMER_ID,
 *   restKey: process.env.REST_KEY,
 *   trackingKey: process.env.TRACKING_KEY,
 *   baseUrl: 'https://gateway.example',
 * })
 */
export function createClient(options: ClientOptions): Client {
  return createClientOf(readClientOptions(options))
}
