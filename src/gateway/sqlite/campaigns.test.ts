import { expect, test } from 'vitest'
import { completePayloads } from '../../test/payloads.ts'
import { TooMany } from '../http/semaphore.ts'
import { createSqliteCampaigns } from './campaigns.ts'
import type { Call } from './remote.ts'
import type { Store } from './store.ts'

/** Campaigns over a thread whose answers the test gives. */
function prepare() {
  const asked: { name: string; answer: (value: never) => void }[] = []
  const call: Call<Store> = (name, ..._) => new Promise((answer) => asked.push({ name, answer }))
  const campaigns = createSqliteCampaigns(call)
  const names = () => asked.map(({ name }) => name)
  return { campaigns, asked, names }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))
const RECORD = {
  ...completePayloads.create,
  id: '1',
  status: 'scheduled' as const,
  created_at: '2026-01-01T00:00:00.000Z',
}
const PAGE = { page: 1, limit: 1 }

test('the thread gets two calls at a time, one for each customer, since events wait for them', async () => {
  const { campaigns, asked, names } = prepare()
  const all = [
    campaigns.list('a', PAGE),
    campaigns.create('a', RECORD),
    campaigns.find('a', '1'),
    campaigns.list('b', PAGE),
    campaigns.findSummary('b', '1'),
    campaigns.find('c', '1'),
  ]
  await settled()
  expect(names()).toEqual(['listCampaigns', 'listCampaigns'])
  const answerNext = async (at: number, value: unknown) => {
    asked[at]?.answer(value as never)
    await settled()
    return names().slice(at + 2)
  }
  expect(await answerNext(0, { summaries: [], total: 0 })).toEqual(['createCampaign'])
  expect(await answerNext(1, { summaries: ['{"id":"1"}'], total: 1 })).toEqual([
    'findCampaignSummary',
  ])
  expect(await answerNext(2, [])).toEqual(['findCampaign'])
  expect(await answerNext(3, '{"id":"2"}')).toEqual(['findCampaign'])
  await answerNext(4, Buffer.from('{"id":"3"}'))
  await answerNext(5, undefined)
  expect(await Promise.all(all)).toEqual([
    { summaries: [], total: 0 },
    [],
    undefined,
    { summaries: [{ id: '1' }], total: 1 },
    { id: '2' },
    Buffer.from('{"id":"3"}'),
  ])
})

test('a customer with too many calls at once is refused, another one is not', async () => {
  const { campaigns, asked } = prepare()
  const lists = Array.from({ length: 502 }, () => campaigns.list('a', PAGE))
  await expect(lists[501]).rejects.toThrow(TooMany)
  await expect(campaigns.create('a', RECORD)).rejects.toThrow(TooMany)
  const other = campaigns.list('b', PAGE)
  await settled()
  expect(asked).toHaveLength(2)
  for (let i = 0; i < 502; i++) {
    asked[i]?.answer({ summaries: [], total: 0 } as never)
    await settled()
  }
  await Promise.all([...lists.slice(0, 501), other])
  expect(asked).toHaveLength(502)
})

test('a call that fails gives its permit back', async () => {
  const campaigns = createSqliteCampaigns(() => Promise.reject(new Error('The disk is full')))
  for (let i = 0; i < 3; i++)
    await expect(campaigns.create('a', RECORD)).rejects.toThrow('The disk is full')
})
