import {
  type CampaignList,
  type CampaignRecord,
  type CampaignSummary,
  type EmailReport,
  validate,
} from '../../contract/index.ts'
import type { Admission } from '../collect/admission.ts'
import { makeEventId } from '../collect/eventId.ts'
import type { Quota } from '../collect/quota.ts'
import type { Customers } from '../customers/customers.ts'
import { invalid, type Refusal } from '../http/answers.ts'
import type { CampaignQuery, Campaigns } from './campaigns.ts'
import type { Reports } from './report.ts'
import { viewOf } from './reportView.ts'

/** The result of an operation, or why it is refused. */
export type Answered<T> = ({ readonly ok: true } & T) | Refusal

/**
 * The campaign operations, for the REST routes and the operators' pages. They check the payloads. The caller checks the
 * credentials. Each rejects with Unavailable if the campaigns or the log can not be read or written. It rejects with
 * TooMany, and does nothing, if there are too many calls at once.
 */
export type CampaignOperations = {
  /**
   * Resolves when the campaign is durable. 422 with issues if it is invalid, 429 if the daily quota of bytes of the
   * customer's servers is used up: campaigns count like payloads.
   */
  create(customerId: string, body: unknown): Promise<Answered<{ readonly record: CampaignRecord }>>
  /** Newest first. 422 with issues if a filter is invalid. */
  list(customerId: string, body: unknown): Promise<Answered<{ readonly list: CampaignList }>>
  /**
   * The newest campaigns.
   *
   * @param limit How many, as the text of a query: a whole number from 1, otherwise 422. Above 100 it is 100. Default
   * 1.
   */
  latest(
    customerId: string,
    limit?: string,
  ): Promise<Answered<{ readonly summaries: readonly CampaignSummary[] }>>
  /** One campaign as the JSON of a CampaignRecord. 404 if the customer has none with this id. */
  find(customerId: string, id: string): Promise<Answered<{ readonly json: Uint8Array }>>
  /**
   * The report of an e-mail campaign. 404 if there is no campaign with this id, or it is on another channel.
   *
   * @param bots Whether the figures include bots, as the text of a query: `include` or `exclude`, otherwise 422. Default
   * `exclude`.
   */
  report(
    customerId: string,
    id: string,
    bots?: string,
  ): Promise<Answered<{ readonly report: EmailReport }>>
}

/**
 * The largest body of create, bytes of UTF-8. Larger than the longest HTML, since a client may escape every character
 * of it.
 */
export const MAX_CREATE_BYTES = 7 * 2 ** 20

/** Campaigns a page by default. */
const DEFAULT_LIMIT = 20
/** The most campaigns on a page, and in an answer of getLatestCampaign. */
export const MAX_LIMIT = 100

/** @param now The clock, ms since 1970. */
export function createCampaignOperations(dependencies: {
  readonly admission: Pick<Admission, 'store'>
  readonly campaigns: Campaigns
  readonly customers: Pick<Customers, 'find'>
  readonly quota: Pick<Quota, 'learn'>
  readonly reports: Reports
  readonly now: () => number
}): CampaignOperations {
  const { admission, campaigns, customers, quota, reports, now } = dependencies

  return {
    async create(customerId, body) {
      const checked = validate('create', body)
      if (!checked.ok) return invalid('The campaign is invalid', checked.error.issues)
      const createdAt = now()
      const record: CampaignRecord = {
        id: makeEventId(createdAt),
        status: 'scheduled',
        created_at: new Date(createdAt).toISOString(),
        ...checked.payload,
      }
      const customer = customers.find(customerId)
      const refused = customer && admission.store(customer)
      if (refused) return refused
      quota.learn(await campaigns.create(customerId, record))
      if (record.type === 'email') reports.follow()
      return { ok: true, record }
    },

    async list(customerId, body) {
      const read = readQuery(body)
      if (!read.ok) return read
      const { page, limit } = read.query
      const { summaries, total } = await campaigns.list(customerId, read.query)
      return { ok: true, list: { data: summaries, page, limit, total } }
    },

    async latest(customerId, text) {
      const limit = text === undefined ? 1 : numberOf(text, /^\d+$/)
      if (!(limit >= 1))
        return invalid('The limit is invalid', [
          { path: 'limit', message: 'Expected a whole number from 1' },
        ])
      const query = { page: 1, limit: Math.min(limit, MAX_LIMIT) }
      const { summaries } = await campaigns.list(customerId, query)
      return { ok: true, summaries }
    },

    async find(customerId, id) {
      const json = await campaigns.find(customerId, id)
      return json ? { ok: true, json } : notFound(UNKNOWN)
    },

    async report(customerId, id, bots = 'exclude') {
      if (bots !== 'include' && bots !== 'exclude')
        return invalid('The report is not known', [
          { path: 'bots', message: 'Expected include or exclude' },
        ])
      const campaign = await campaigns.findSummary(customerId, id)
      if (!campaign) return notFound(UNKNOWN)
      const { type, tracking } = campaign
      if (type !== 'email')
        return notFound(`Only e-mail campaigns have an e-mail report, and this one is on ${type}`)
      const view = viewOf(customers, customerId, bots === 'include')
      return {
        ok: true,
        report: { campaign_id: id, ...(await reports.read(customerId, tracking, view)) },
      }
    },
  }
}

/** docs/decisions.md, "Campaigns": numbers out of range are clamped, other texts are refused. */
function readQuery(body: unknown): Answered<{ readonly query: CampaignQuery }> {
  const checked = validate('list', body)
  if (!checked.ok) return invalid('The filter is invalid', checked.error.issues)
  const { filters, search, type, start_date, page = '1', limit } = checked.payload
  const pageNumber = numberOf(page, WHOLE)
  const limitNumber = limit === undefined ? DEFAULT_LIMIT : numberOf(limit, WHOLE)
  const issues = [
    ...(Number.isNaN(pageNumber) ? [{ path: 'page', message: 'Expected a whole number' }] : []),
    ...(Number.isNaN(limitNumber) ? [{ path: 'limit', message: 'Expected a whole number' }] : []),
    ...(start_date !== undefined && !isDay(start_date.trim())
      ? [{ path: 'start_date', message: 'Expected a day of the calendar as YYYY-MM-DD' }]
      : []),
  ]
  if (issues.length > 0) return invalid('The filter is invalid', issues)
  return {
    ok: true,
    query: {
      page: clamp(pageNumber, Number.MAX_SAFE_INTEGER),
      limit: clamp(limitNumber, MAX_LIMIT),
      ...(search !== undefined && { search: search.trim() }),
      ...(type !== undefined && { type }),
      ...(start_date !== undefined && { startDate: start_date.trim() }),
      ...(filters !== undefined && { statuses: filters.split(',').map((word) => word.trim()) }),
    },
  }
}

const UNKNOWN = 'There is no campaign with this id'

const WHOLE = /^[+-]?\d+$/

/** The number of a text. NaN if the text does not have this form. */
const numberOf = (text: string, form: RegExp): number =>
  form.test(text.trim()) ? Number(text) : Number.NaN

const clamp = (number: number, max: number): number => Math.min(Math.max(number, 1), max)

const isDay = (text: string): boolean => {
  const at = /^\d{4}-\d\d-\d\d$/.test(text) ? new Date(`${text}T00:00:00Z`) : undefined
  return !!at && !Number.isNaN(+at) && at.toISOString().startsWith(text)
}

const notFound = (message: string): Refusal => ({ ok: false, status: 404, message })
