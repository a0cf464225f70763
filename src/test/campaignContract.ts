import { afterAll, beforeAll, expect, test } from 'vitest'
import type { CampaignRecord } from '../contract/index.ts'
import type { Campaigns } from '../gateway/campaigns/campaigns.ts'
import { completePayloads } from './payloads.ts'

/** The engine under test. */
export type CampaignEngine = {
  readonly campaigns: Campaigns
  /** The same data, through another gateway if the engine has several. */
  readonly other: Campaigns
  close(): Promise<void>
}

export const makeCampaign = (id: string, html = '<p>Hello</p>'): CampaignRecord => ({
  ...completePayloads.create,
  id,
  status: 'scheduled' as const,
  created_at: '2026-01-01T00:00:00.000Z',
  content: { html },
})

const PAGE = { page: 1, limit: 10 }
const text = (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString()
/** What every engine answers, byte for byte. */
const jsonOf = ({ content, ...summary }: CampaignRecord) => JSON.stringify({ ...summary, content })

/** Tests that campaigns of an engine keep what `Campaigns` promises. The engine starts without campaigns. */
export function testCampaigns(open: () => Promise<CampaignEngine>): void {
  let engine: CampaignEngine
  beforeAll(async () => {
    engine = await open()
  })
  afterAll(() => engine.close())
  const ids = async (customer: string) =>
    (await engine.other.list(customer, PAGE)).summaries.map(({ id }) => id)

  test('there is an e-mail campaign from the first one on, and for ever', async () => {
    expect(await engine.other.hasEmail()).toBe(false)
    await engine.campaigns.create('first', { ...makeCampaign('s'), type: 'sms' })
    expect(await engine.other.hasEmail()).toBe(false)
    await engine.campaigns.create('first', makeCampaign('e'))
    expect(await engine.other.hasEmail()).toBe(true)
  })

  test('a campaign is found as it was stored, whatever its size and its characters', async () => {
    const all = [
      makeCampaign('small', '<p>„Grüße"\n \u2028 🛒</p>'),
      makeCampaign('large', `<p>${'🛒'.repeat(512_000 - 7)}</p>`),
      makeCampaign('no text', '\u0000'.repeat(20_000)),
    ]
    for (const campaign of all) await engine.campaigns.create('shop', campaign)
    for (const campaign of all) {
      const { content: _, ...summary } = campaign
      expect(text(await engine.other.find('shop', campaign.id)) === jsonOf(campaign)).toBe(true)
      expect(await engine.other.findSummary('shop', campaign.id)).toEqual(summary)
    }
  })

  test('a campaign is found by its whole id, and only of its customer', async () => {
    const some = ['a.b', 'a=2eb', '*', '>', 'ü 🛒', 'x'.repeat(2_048), `${'x'.repeat(2_047)}y`]
    for (const id of some) await engine.campaigns.create('ids.de', makeCampaign(id, `<p>${id}</p>`))
    for (const id of some) {
      expect(text(await engine.other.find('ids.de', id))).toContain(JSON.stringify(`<p>${id}</p>`))
      expect(await engine.other.find('ids', id)).toBeUndefined()
      expect(await engine.other.findSummary('ids.de.x', id)).toBeUndefined()
    }
    for (const id of ['', 'A.B', 'x'.repeat(50_000)])
      expect(await engine.other.find('ids.de', id)).toBeUndefined()
  })

  test('of two campaigns with one id that are created at once, one is stored', async () => {
    for (const size of [10, 100_000]) {
      const both = [0, 1].map((i) => makeCampaign(`twice ${size}`, `${i}`.repeat(size)))
      const [one, other] = both as [CampaignRecord, CampaignRecord]
      await Promise.all([
        engine.campaigns.create('twice', one),
        engine.other.create('twice', other),
      ])
      const found = text(await engine.campaigns.find('twice', one.id)) as string
      expect(both.map(jsonOf).includes(found)).toBe(true)
      await engine.campaigns.create('twice', makeCampaign(one.id, 'a third one'))
      expect(text(await engine.other.find('twice', one.id)) === found).toBe(true)
    }
    expect(await ids('twice')).toEqual(['twice 100000', 'twice 10'])
  })

  test('a list has what is stored, newest first, with search and pages', async () => {
    for (const id of ['1', '2', '3', '4'])
      await engine.campaigns.create('lists', {
        ...makeCampaign(id),
        type: id === '2' ? 'sms' : 'email',
        subject: { ...completePayloads.create.subject, name: `Número ${id}` },
      })
    expect(await ids('lists')).toEqual(['4', '3', '2', '1'])
    const list = async (query: object) => {
      const { summaries, total } = await engine.other.list('lists', { ...PAGE, ...query })
      return [summaries.map(({ id }) => id), total]
    }
    expect(await list({ page: 2, limit: 3 })).toEqual([['1'], 4])
    expect(await list({ type: 'sms' })).toEqual([['2'], 1])
    expect(await list({ search: 'NÚMERO 3' })).toEqual([['3'], 1])
    expect(await list({ statuses: ['sent'] })).toEqual([[], 0])
    expect(await engine.other.list('nobody', PAGE)).toEqual({ summaries: [], total: 0 })
    const { content: _, ...summary } = makeCampaign('1')
    const last = await engine.other.list('lists', { page: 4, limit: 1 })
    expect(last.summaries).toEqual([
      { ...summary, subject: { ...summary.subject, name: 'Número 1' } },
    ])
  })
}
