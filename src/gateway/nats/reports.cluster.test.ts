import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { prepareGateway, send } from '../../test/gateway.ts'
import { completePayloads } from '../../test/payloads.ts'
import { takeAccount } from '../../test/sharedCluster.ts'

/** Long, for busy machines. */
const SOON = { timeout: 60_000, interval: 200 }
const cluster = { ...takeAccount(), partitions: 2 }
const { create, saveOrder } = completePayloads

let prepared: Awaited<ReturnType<typeof prepareGateway>>
beforeAll(async () => {
  prepared = await prepareGateway()
})
afterAll(() => prepared.end())

test('the report of a campaign has its orders, by the settings of the customer, whichever gateway is asked', async () => {
  const start = (name: string, follow: boolean) =>
    prepared.start({
      cluster: { ...cluster, follow },
      ...{ dataDir: join(prepared.folder, name), demo: true },
    })
  const one = await start('one', true)
  const other = await start('other', false)
  one.customers.change('demo', { timeZone: 'Pacific/Kiritimati', currency: 'RON' })
  await expect.poll(() => other.customers.find('demo')?.currency, SOON).toBe('RON')
  const keys = `k=${one.demoRestKey}&u=demo`
  const post = async (url: string, target: string, body: object) => {
    const sent = { method: 'POST', body: JSON.stringify(body) }
    const { status, text } = await send(url, target, sent)
    expect([text, status]).toEqual([text, 200])
    return JSON.parse(text)
  }
  const tracking = { utm_campaign: 'cluster', utm_medium: 'email', utm_source: 'news' }
  const campaign = await post(one.url, `/api/v1/campaigns/create?${keys}`, { ...create, tracking })
  const visit = {
    ...completePayloads.setEmail,
    email_address: saveOrder.email_address.toUpperCase(),
    event: 'set_email',
    url: `http://localhost/?${new URLSearchParams(tracking)}`,
  }
  const http_user_agent = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'
  const track = `/t/r?k=DEMOSHOP&api_key=${one.demoRestKey}`
  await post(other.url, track, { ...visit, http_user_agent })
  await post(other.url, track, { ...visit, http_user_agent: 'Googlebot/2.1' })
  await post(other.url, `/api/v1/save_order?${keys}`, { ...saveOrder, total_value: '80.50' })
  for (const { url } of [one, other])
    await expect
      .poll(async () => {
        const { text } = await send(
          url,
          `/api/v1/campaigns/${campaign.id}/email/get-report?${keys}&bots=include`,
        )
        return JSON.parse(text)
      }, SOON)
      .toMatchObject({
        ...{ time_zone: 'Pacific/Kiritimati', currency: 'RON', orders: 1, revenue: '80.50' },
        ...{ visitors: 2, bots: { visitors: 1, events: 1, included: true }, funnel: { order: 1 } },
      })
  await other.close()
  await one.close()
})
