import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { makeCampaign, testCampaigns } from '../../test/campaignContract.ts'
import { takeAccount } from '../../test/sharedCluster.ts'
import { silenceFirstConsumer } from '../../test/silentConsumer.ts'
import { openStore, type Store } from '../sqlite/store.ts'
import type { SqliteThread } from '../sqlite/thread.ts'
import type { Answers } from './answers.ts'
import { createAsk, serveAnswers } from './ask.ts'
import { type Broker, connectBroker } from './broker.ts'
import { createNatsCampaigns } from './campaigns.ts'
import { type CopiedCampaigns, followCampaigns } from './follower/followCampaigns.ts'
import type { TaskContext } from './follower/task.ts'
import { startCampaigns } from './follower/tasks/campaigns.ts'
import { findPassing } from './passing.ts'

/** Long, for busy machines. A test waits more than once. */
vi.setConfig({ testTimeout: 180_000 })
const PATIENCE = { timeout: 60_000, interval: 50 }

/** Two gateways. */
let brokers: [Broker, Broker]
let folder: string
beforeAll(async () => {
  const account = { ...takeAccount(), partitions: 2 }
  const first = await connectBroker(account)
  brokers = [first, await connectBroker(account)]
  folder = mkdtempSync(join(tmpdir(), 'shoptrail-'))
})
afterAll(async () => {
  await Promise.all(brokers.map((broker) => broker.close()))
  rmSync(folder, { recursive: true })
})

const errors: unknown[] = []
/** Keeps errors, but not those of a busy cluster, after which a copy tries again. */
function onError(error: unknown): void {
  if (findPassing(error) === undefined) errors.push(error)
}

/** The copy of a partition. Its store is in this thread. */
function openCopy(partition: number, name = 'copy', broker = brokers[0]) {
  const store = openStore(join(folder, `${name}-${partition}.db`))
  const call = async (name: keyof Store, ...args: unknown[]) =>
    (store[name] as (...args: unknown[]) => never)(...args)
  const thread = { call } as unknown as SqliteThread
  const campaigns = followCampaigns(broker, { partition, thread }, () => {}, onError)
  return {
    ...{ store, campaigns, thread },
    async close() {
      await campaigns.stop()
      store.close()
    },
  }
}

/** Asks again: a new consumer and one time-out of the cluster take as long as a question waits. */
const untilCopied = ({ campaigns }: ReturnType<typeof openCopy>) =>
  vi.waitFor(() => campaigns.catchUp(), PATIENCE)

async function serve(partition: number, thread: SqliteThread, campaigns: CopiedCampaigns) {
  const task = await startCampaigns({ copy: { thread }, campaigns } as unknown as TaskContext)
  return serveAnswers(brokers[0].nc, partition, task.answers as Answers, onError)
}

const gateway = ({ nc }: Broker, broker: Broker) => createNatsCampaigns(broker, createAsk(nc))

describe('the contract of campaigns', () =>
  testCampaigns(async () => {
    const copies = [0, 1].map((partition) => openCopy(partition))
    const stops = await Promise.all(
      copies.map(({ thread, campaigns }, partition) => serve(partition, thread, campaigns)),
    )
    const [one, other] = brokers
    return {
      campaigns: gateway(one, one),
      other: gateway(other, other),
      async close() {
        for (const stop of stops) stop()
        for (const copy of copies) await copy.close()
        expect(errors).toEqual([])
      },
    }
  }))

test('content of a campaign that existed already does not stay in the object store', async () => {
  const [one, other] = brokers
  const html = 'x'.repeat(100_000)
  await gateway(one, one).create('orphans', makeCampaign('1', html))
  const objects = async () => (await one.content.list()).map(({ name }) => name)
  const before = await objects()
  await gateway(other, other).create('orphans', makeCampaign('1', html))
  expect(await objects()).toEqual(before)
  expect(before.filter((name) => name.includes('.orphans.'))).toHaveLength(1)
})

test('a copy has the campaigns of its partition in order, and continues after a restart', async () => {
  const [one, other] = brokers
  const partition = one.partitionOf('again')
  const ids = (copy: ReturnType<typeof openCopy>) =>
    copy.store
      .listCampaigns('again', { page: 1, limit: 100 })
      .summaries.map((json) => JSON.parse(json).id)
  const campaign = {
    ...makeCampaign('1', 'x'.repeat(30_000)),
    created_at: new Date().toISOString(),
  }
  await gateway(one, one).create('again', campaign)
  const first = openCopy(partition, 'again')
  await untilCopied(first)
  await first.campaigns.firstEmail
  expect(ids(first)).toEqual(['1'])
  const usage = first.store.usage().find(({ customer }) => customer === 'again')
  const { content, ...summary } = campaign
  expect(usage).toMatchObject({
    isServer: true,
    events: 0,
    bytes: JSON.stringify(content).length + JSON.stringify(summary).length,
  })
  await first.close()
  for (const id of ['2', '3']) await gateway(other, other).create('again', { ...campaign, id })
  const second = openCopy(partition, 'again')
  await untilCopied(second)
  expect(ids(second)).toEqual(['3', '2', '1'])
  await second.campaigns.firstEmail
  await second.close()
  await expect(second.campaigns.catchUp()).rejects.toThrow('not copied yet')
  expect(errors).toEqual([])
})

test('a copy has the campaigns that changed in the bucket while it began to read', async () => {
  const [one, other] = brokers
  const partition = one.partitionOf('busy')
  await gateway(one, one).create('busy', makeCampaign('1'))
  const entry = await one.campaigns.get(`${partition}.busy.1`)
  let isOver = false
  async function write({ campaigns }: Broker): Promise<void> {
    while (!isOver) await campaigns.put(`${partition}.busy.1`, entry?.value ?? '')
  }
  const writers = [write(one), write(other)]
  // With each of them the count of pending messages may stay too high, or not.
  const copies: ReturnType<typeof openCopy>[] = []
  while (copies.length < 10) {
    copies.push(openCopy(partition, `busy-${copies.length}`))
    await delay(20)
  }
  isOver = true
  await Promise.all(writers)
  await gateway(one, one).create('busy', makeCampaign('2'))
  for (const copy of copies) {
    await untilCopied(copy)
    expect(copy.store.listCampaigns('busy', { page: 1, limit: 9 }).total).toBe(2)
    await copy.close()
  }
  expect(errors).toEqual([])
})

test('a copy whose consumer brings no campaigns reads them by another one', async () => {
  const [one] = brokers
  const partition = one.partitionOf('silent')
  await gateway(one, one).create('silent', makeCampaign('1'))
  const { broker, held } = silenceFirstConsumer(one)
  const copy = openCopy(partition, 'silent', broker)
  await untilCopied(copy)
  expect(held()).toBeGreaterThan(0)
  expect(copy.store.listCampaigns('silent', { page: 1, limit: 9 }).total).toBe(1)
  await copy.close()
})

test('what an operator has written or deleted in the bucket does not stop a copy', async () => {
  const [one] = brokers
  const partition = one.partitionOf('mended')
  await one.campaigns.put(`${partition}.mended.wrong`, 'no campaign')
  await one.campaigns.put(`${partition}.mended.other`, '{}\n{"subject":{},"scheduling":{}}\n')
  await gateway(one, one).create('mended', makeCampaign('gone'))
  await one.campaigns.delete(`${partition}.mended.gone`)
  await gateway(one, one).create('mended', makeCampaign('kept'))
  const copy = openCopy(partition, 'mended')
  await untilCopied(copy)
  expect(copy.store.listCampaigns('mended', { page: 1, limit: 9 }).total).toBe(1)
  expect(await gateway(one, one).find('mended', 'gone')).toBeUndefined()
  await copy.close()
  expect(errors.splice(0).map((error) => (error as Error).message)).toEqual([
    'The value is not that of a campaign',
    'The summary is not that of a campaign',
  ])
})

test('of campaigns that two gateways create with one id at once, one is found and listed', async () => {
  const [one, other] = brokers
  const ids = Array.from({ length: 40 }, (_, i) => `${i}`)
  const campaignBy = (id: string, name: string) => ({
    ...makeCampaign(id),
    subject: { ...makeCampaign(id).subject, name },
  })
  const creators = [gateway(one, one), gateway(other, other)] as const
  // A customer has one call at a time.
  for (const id of ids)
    await Promise.all(creators.map((by, n) => by.create('race', campaignBy(id, `by ${n}`))))
  const copy = openCopy(one.partitionOf('race'), 'race')
  await untilCopied(copy)
  const { summaries, total } = copy.store.listCampaigns('race', { page: 1, limit: 100 })
  expect(total).toBe(ids.length)
  for (const summary of summaries.map((json) => JSON.parse(json)))
    expect(await creators[0].findSummary('race', summary.id)).toEqual(summary)
  await copy.close()
})
