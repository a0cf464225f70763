import { ValidationException } from '../contract/index.ts'
import { type Campaigns, createCampaigns } from './campaigns.ts'
import { createEvents, type Events } from './events.ts'
import { createOperate } from './operate.ts'
import { type ClientOptions, readSettings } from './settings.ts'

export {
  ApiException,
  type ApiFailure,
  type Campaign,
  type CampaignFilter,
  type CampaignList,
  type CampaignRecord,
  type CampaignStatus,
  type CustomApiEvent,
  CustomerNotFoundException,
  type EmailReport,
  type EventInput,
  type EventPayload,
  type Issue,
  MethodNotAllowedException,
  type ReportDay,
  type ServedScript,
  type StoredEvent,
  type TrackingOperation,
  UnauthorizedException,
  ValidationException,
} from '../contract/index.ts'
export type { CallOptions } from './callOptions.ts'
export type { Campaigns } from './campaigns.ts'
export type { Events, Named } from './events.ts'
export type {
  ByteStream,
  ClientOptions,
  Clock,
  Fetch,
  FetchedAnswer,
  FetchInit,
  Signal,
} from './settings.ts'

/** The sixteen operations of the service. */
export type Client = {
  readonly campaigns: Campaigns
  readonly events: Events
}

/**
 * A client of the service, for a shop's own server: it holds the restKey, which must never be in a page.
 *
 * It runs wherever there is fetch, and holds nothing open between calls. A call that fails is tried again
 * after a random wait of up to 500 ms, then up to 1 s and so on, up to 10 s; where `Retry-After` asks for
 * patience, after that (up to 60 s) and the random wait.
 *
 * @throws ValidationException with every fault of the options, a missing or blank credential and an option
 * that there is not among them.
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
  const read = readSettings(options)
  if (!read.ok) throw new ValidationException(read.issues)
  const { settings } = read
  const operate = createOperate(settings)
  return {
    campaigns: createCampaigns(operate, settings),
    events: createEvents(operate, settings),
  }
}
