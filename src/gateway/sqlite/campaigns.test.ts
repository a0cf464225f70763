import { expect, test } from 'vitest'
import { completePayloads } from '../../test/payloads.ts'
import { TooMany } from '../http/semaphore.ts'
import { createSqliteCampaigns } from './campaigns.ts'
import type { Call } from './remote.ts'
import type { Store } from './store.ts'

/** Campaigns over a thread that answers when it is told to. */
function prepare() {
  const asked: { name: string; answer: (value: never) => void }[] = []
  const call: Call<Store> = (name, ..._) => new Promise((answer) => asked.push({ name, answer }))
  const campaigns = createSqliteCampaigns(call)
  const kinds = () => asked.map(({ name }) => name)
  return { campaigns, asked, kinds }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))
const RECORD = {
  ...completePayloads.create,
  ...{ id: '1', status: 'scheduled' as const, created_at: '2026-01-01T00:00:00.000Z' },
}
const PAGE = { page: 1, limit: 1 }

test('the thread has two questions at a time, one a customer, for events wait behind them', async () => {
  const { campaigns, asked, kinds } = prepare()
  const all = [
    campaigns.list('a', PAGE),
    campaigns.create('a', RECORD),
    campaigns.findJson('a', ['1']),
    campaigns.listSizes('b', PAGE),
    campaigns.find('b', '1'),
    campaigns.findHead('c', '1'),
  ]
  await settled()
  expect(kinds()).toEqual(['listCampaigns', 'listCampaignSizes'])
  const answerNext = async (at: number, value: unknown) => {
    asked[at]?.answer(value as never)
    await settled()
    return kinds().slice(at + 2)
  }
  expect(await answerNext(0, { heads: [], total: 0 })).toEqual(['createCampaign'])
  expect(await answerNext(1, { sizes: [], total: 0 })).toEqual(['findCampaigns'])
  expect(await answerNext(2, undefined)).toEqual(['findCampaignHead'])
  expect(await answerNext(3, Buffer.from('{"id":"1"}'))).toEqual(['findCampaigns'])
  await answerNext(4, undefined)
  await answerNext(5, Buffer.from(''))
  expect(await Promise.all(all)).toEqual([
    { heads: [], total: 0 },
    undefined,
    Buffer.from(''),
    { sizes: [], total: 0 },
    { id: '1' },
    undefined,
  ])
})

test('who asks faster than is answered is refused, another customer and answers that have begun are not', async () => {
  const { campaigns, asked } = prepare()
  const questions = Array.from({ length: 502 }, () => campaigns.list('a', PAGE))
  await expect(questions[501]).rejects.toThrow(TooMany)
  await expect(campaigns.create('a', RECORD)).rejects.toThrow(TooMany)
  const begun = campaigns.findJson('a', ['1'])
  const other = campaigns.list('b', PAGE)
  await settled()
  expect(asked).toHaveLength(2)
  for (let i = 0; i < 503; i++) {
    asked[i]?.answer({ heads: [], total: 0 } as never)
    await settled()
  }
  await Promise.all([...questions.slice(0, 501), begun, other])
  expect(asked).toHaveLength(503)
})

test('a question that fails gives its turn back', async () => {
  const campaigns = createSqliteCampaigns(() => Promise.reject(new Error('The disk is full')))
  for (let i = 0; i < 3; i++)
    await expect(campaigns.create('a', RECORD)).rejects.toThrow('The disk is full')
})
