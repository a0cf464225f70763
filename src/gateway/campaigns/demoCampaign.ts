import { DEMO_CUSTOMER_ID } from '../customers/demoCustomer.ts'
import type { Campaigns } from './campaigns.ts'

/** The demo's e-mail campaign. The demo shop links to it, so that clicks in the shop appear in its report. */
const DEMO_CAMPAIGN_ID = 'autumn-mugs'
const DAY_MS = 86_400_000

/**
 * Creates the demo customer's e-mail campaign if it is missing.
 *
 * @param now ms since 1970. The campaign is scheduled for the next morning.
 */
export async function addDemoCampaign(campaigns: Campaigns, now: number): Promise<void> {
  if (await campaigns.findSummary(DEMO_CUSTOMER_ID, DEMO_CAMPAIGN_ID)) return
  await campaigns.create(DEMO_CUSTOMER_ID, {
    id: DEMO_CAMPAIGN_ID,
    status: 'scheduled',
    created_at: new Date(now).toISOString(),
    type: 'email',
    mode: 'regular',
    sender: {
      name: 'Saltmarsh',
      sender: 'letters@saltmarsh.example',
      reply_to: 'hello@saltmarsh.example',
    },
    audience: { audience_type: 'all', smart_sending: true },
    subject: {
      name: 'Autumn mugs',
      subject_line: 'The autumn firing is out of the kiln',
      preview_text: 'Six glazes, forty mugs of each, and one that nobody planned.',
    },
    content: { html: LETTER },
    scheduling: {
      send_at: `${new Date(now + DAY_MS).toISOString().slice(0, 10)} 09:00`,
      use_optimal_time: 0,
      optimize_for: 'opening',
    },
    tracking: { utm_campaign: 'autumn-mugs', utm_medium: 'email', utm_source: 'newsletter' },
  })
}

const LETTER = `<div style="max-width: 520px; margin: 0 auto; font-family: Georgia, serif; color: #12262f">
  <p style="letter-spacing: .12em; text-transform: uppercase; font-size: 12px; color: #c8452c">A letter from Saltmarsh</p>
  <h1 style="font-size: 30px; line-height: 1.15; margin: 0 0 14px">The autumn firing is out of the kiln</h1>
  <p style="font-size: 17px; line-height: 1.6">Six glazes, forty mugs of each. The cobalt came out darker than we meant, and we would not have it back.</p>
  <table role="presentation" style="border-spacing: 8px; margin: 0 -8px 18px">
    <tr>
      <td style="width: 74px; height: 56px; background: #2f4b9b"></td>
      <td style="width: 74px; height: 56px; background: #8fb5a0"></td>
      <td style="width: 74px; height: 56px; background: #e7dcc2"></td>
      <td style="width: 74px; height: 56px; background: #d9694f"></td>
    </tr>
  </table>
  <p><a href="/shop/?utm_campaign=autumn-mugs&amp;utm_medium=email&amp;utm_source=newsletter" style="display: inline-block; padding: 12px 22px; background: #12262f; color: #fff; text-decoration: none">See the autumn mugs</a></p>
  <p style="font-size: 13px; color: #53666d">You have this letter because you asked for one a firing. No more than that. <a href="/shop/unsubscribe.html" style="color: #53666d">No more letters</a></p>
</div>
`
