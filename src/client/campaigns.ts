import type {
  Campaign,
  CampaignFilter,
  CampaignList,
  CampaignRecord,
  CampaignSummary,
  EmailReport,
  ReportQuery,
} from '../contract/index.ts'
import type { Operate } from './operate.ts'
import type { CallOptions, Settings } from './options.ts'
import { type ApiRequest, post } from './request.ts'

/**
 * The campaign operations. Each rejects with a ValidationException before any request, or with an
 * ApiException; each resolves with the decoded JSON of the answer, and with `[]` if that is empty.
 */
export type Campaigns = {
  /**
   * Lists campaigns, newest first. Retried if a request fails.
   *
   * @param filter Every key is optional and text; an empty one is not sent. Default `{}`.
   * @example
   * const { data, total } = await client.campaigns.list({ type: 'email', limit: '50' })
   */
  list(filter?: CampaignFilter, options?: CallOptions): Promise<CampaignList>
  /**
   * Creates a campaign. Not retried if the request may have been carried out: then the error has
   * `mayHaveArrived: true`, and `list` shows whether the campaign exists.
   *
   * @example
   * const { id } = await client.campaigns.create({
   *   type: 'email',
   *   mode: 'regular',
   *   sender: { name: 'Shop', sender: 'news@shop.example', reply_to: 'help@shop.example' },
   *   audience: { audience_type: 'all', smart_sending: true },
   *   subject: { name: 'Spring', subject_line: 'New mugs', preview_text: 'Have a look' },
   *   content: { html: '<h1>New mugs</h1>' },
   *   scheduling: { send_at: '2027-03-01 09:30', use_optimal_time: 0, optimize_for: 'opening' },
   *   tracking: { utm_campaign: 'spring', utm_medium: 'email', utm_source: 'newsletter' },
   * })
   */
  create(campaign: Campaign, options?: CallOptions): Promise<CampaignRecord>
  /**
   * The report of an e-mail campaign: what its visitors did in the shop. Retried if a request fails. An
   * unknown campaign, or one on another channel, is a CustomerNotFoundException.
   *
   * @param report The campaign's id, from create or list; or `{ id, bots }`. With `bots: 'include'` all figures include
   * those of bots. Default: `exclude`.
   * @example
   * const { visitors, funnel } = await client.campaigns.getEmailReport(id)
   * const { events } = await client.campaigns.getEmailReport({ id, bots: 'include' })
   */
  getEmailReport(report: string | ReportQuery, options?: CallOptions): Promise<EmailReport>
  /**
   * The newest campaigns. Retried if a request fails.
   *
   * @param limit How many, from 1. Default: the gateway's, 1.
   * @example
   * const [latest] = await client.campaigns.getLatestCampaign()
   */
  getLatestCampaign(
    limit?: number | null,
    options?: CallOptions,
  ): Promise<readonly CampaignSummary[]>
}

export function createCampaigns(
  operate: Operate,
  { apiUrl, restKey, customerId }: Settings,
): Campaigns {
  const keys = `k=${encodeURIComponent(restKey)}&u=${encodeURIComponent(customerId)}`
  const get = (path: string, query = ''): ApiRequest => ({
    method: 'GET',
    url: `${apiUrl}/${path}?${keys}${query}`,
  })
  return {
    list: (filter = {}, options) =>
      operate('list', filter, options, (payload) =>
        post(`${apiUrl}/campaigns/list?${keys}`, payload),
      ),
    create: (campaign, options) =>
      operate('create', campaign, options, (payload) =>
        post(`${apiUrl}/campaigns/create?${keys}`, payload),
      ),
    getEmailReport(report, options) {
      const query = typeof report === 'object' ? report : { id: report }
      return operate('getEmailReport', query, options, ({ id, bots }) =>
        get(`campaigns/${encodeURIComponent(id)}/email/get-report`, bots ? `&bots=${bots}` : ''),
      )
    },
    getLatestCampaign: (limit, options) =>
      operate('getLatestCampaign', { limit }, options, ({ limit }) =>
        get('get-latest-campaign', limit ? `&limit=${limit}` : ''),
      ),
  }
}
