import { afterAll, beforeAll, expect, test } from 'vitest'
import { takeAccount } from '../../test/sharedCluster.ts'
import type { Answers } from './answers.ts'
import { createAsk, MAX_REPLY_BYTES, serveAnswers } from './ask.ts'
import { connectNats } from './broker.ts'

let nc: Awaited<ReturnType<typeof connectNats>>
beforeAll(async () => {
  nc = await connectNats(takeAccount())
})
afterAll(() => nc.close())

/** @param texts What lists of campaigns have as their summaries. */
const answering = (name: string, bytes: number): Answers =>
  ({ listCampaigns: async () => ({ summaries: [name, 'x'.repeat(bytes)], total: 2 }) }) as never
const PAGE = { page: 1, limit: 1 }

test('a reply that is larger than a message arrives whole, up to a bound', async () => {
  const ask = createAsk(nc)
  const errors: unknown[] = []
  const stops = [10, 3_000_000, MAX_REPLY_BYTES].map((bytes, partition) =>
    serveAnswers(nc, partition, answering(`${partition}`, bytes), (error) => errors.push(error)),
  )
  const list = (partition: number) => ask(partition, 'listCampaigns', ['demo', PAGE], 60_000)
  const listed = await Promise.all([list(0), list(1), list(0), list(1)])
  expect(listed.map(({ summaries }) => summaries.map((text) => `${text}`.length))).toEqual([
    [1, 10],
    [1, 3_000_000],
    [1, 10],
    [1, 3_000_000],
  ])
  await expect(list(2)).rejects.toMatchObject({
    name: 'Unavailable',
    message: 'The answer is too large',
  })
  for (const stop of stops) stop()
  expect(errors).toEqual([])
})

test('a question that nobody answers is unavailable, at once or after its time', async () => {
  const ask = createAsk(nc)
  await expect(ask(3, 'listCampaigns', ['demo', PAGE], 60_000)).rejects.toMatchObject({
    name: 'Unavailable',
    message: expect.stringContaining('No follower holds partition 3'),
  })
  const never = { listCampaigns: () => new Promise(() => {}) } as never
  const stop = serveAnswers(nc, 4, never, () => {})
  await expect(ask(4, 'listCampaigns', ['demo', PAGE], 100)).rejects.toThrow('answers too slowly')
  stop()
})
