import type {
  Campaign,
  CampaignFilter,
  CampaignList,
  CampaignRecord,
  EmailReport,
} from '../contract/index.ts'
import type { CallOptions } from './callOptions.ts'
import type { Operate } from './operate.ts'
import type { Settings } from './settings.ts'

/**
 * The campaign operations. Each rejects with a ValidationException before any request, or with an
 * ApiException; each resolves with the decoded JSON of the answer, and with `[]` where that is empty.
 */
export type Campaigns = {
  /**
   * Lists campaigns, newest first. Repeated where a try fails.
   *
   * @param filter Every key optional, and text; what is empty is not sent. Default `{}`.
   * @example
   * const { data, total } = await client.campaigns.list({ type: 'email', limit: '50' })
   */
  list(filter?: CampaignFilter, options?: CallOptions): Promise<CampaignList>
  /**
   * Creates a campaign. Never repeated where the first try may have been taken: then the error says
   * `mayHaveArrived`, and `list` tells whether it was.
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
   * What the visits of an e-mail campaign did on the shop. Repeated where a try fails. A campaign that
   * is not there, or is on another channel, is a CustomerNotFoundException.
   *
   * @param id Of the campaign, as create and list tell it.
   * @example
   * const { visitors, funnel } = await client.campaigns.getEmailReport(id)
   */
  getEmailReport(id: string, options?: CallOptions): Promise<EmailReport>
  /**
   * The newest campaigns. Repeated where a try fails.
   *
   * @param limit How many, from 1. Default: the gateway's, 1.
   * @example
   * const [latest] = await client.campaigns.getLatestCampaign()
   */
  getLatestCampaign(
    limit?: number | null,
    options?: CallOptions,
  ): Promise<readonly CampaignRecord[]>
}

export function createCampaigns(
  operate: Operate,
  { apiUrl, restKey, customerId }: Settings,
): Campaigns {
  const keys = `k=${encodeURIComponent(restKey)}&u=${encodeURIComponent(customerId)}`
  return {
    list: (filter = {}, options) =>
      operate({
        operation: 'list',
        payload: filter,
        options,
        repeat: 'always',
        toRequest: (payload) => ({
          method: 'POST',
          url: `${apiUrl}/campaigns/list?${keys}`,
          body: JSON.stringify(payload),
        }),
      }),
    create: (campaign, options) =>
      operate({
        operation: 'create',
        payload: campaign,
        options,
        repeat: 'ifNotTaken',
        toRequest: (payload) => ({
          method: 'POST',
          url: `${apiUrl}/campaigns/create?${keys}`,
          body: JSON.stringify(payload),
        }),
      }),
    getEmailReport: (id, options) =>
      operate({
        operation: 'getEmailReport',
        payload: { id },
        options,
        repeat: 'always',
        toRequest: (payload) => ({
          method: 'GET',
          url: `${apiUrl}/campaigns/${encodeURIComponent(payload.id)}/email/get-report?${keys}`,
        }),
      }),
    getLatestCampaign: (limit, options) =>
      operate({
        operation: 'getLatestCampaign',
        payload: { limit },
        options,
        repeat: 'always',
        toRequest: (payload) => ({
          method: 'GET',
          url: `${apiUrl}/get-latest-campaign?${keys}${payload.limit ? `&limit=${payload.limit}` : ''}`,
        }),
      }),
  }
}
