import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, expect, test, vi } from 'vitest'
import {
  makeLogEvent,
  publishEvent,
  startTestFollower,
  type TestFollower,
} from '../../../../test/followers.ts'
import { makeRecord } from '../../../../test/orderRecords.ts'
import { takeAccount } from '../../../../test/sharedCluster.ts'
import { connectBroker } from '../../broker.ts'
import { streamOf } from '../../names.ts'
import { createRetentionTask } from './retention.ts'

/** Long, for busy machines. A test starts several followers. */
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 })
const SOON = { timeout: 60_000, interval: 50 }
const DAY_MS = 86_400_000
const account = takeAccount()
const followers: TestFollower[] = []
afterAll(() => Promise.all(followers.map((follower) => follower.stop(true))))

const NOW = Date.now()
const UTM = Buffer.alloc(32, 1)
/** Sums of a campaign, as the reports make them. */
const PART = { devices: [1], names: [], days: [] }

async function start(of = account): Promise<TestFollower> {
  const retention = createRetentionTask({
    async closeFigures({ thread }, customer, before) {
      const figures = [{ utm: UTM, part: PART }]
      await thread.call('closeFigures', { customer, since: 0, until: before, figures })
    },
    onRemoved() {},
    firstMs: 0,
    pauseMs: 200,
  })
  const follower = await startTestFollower({
    account: of,
    tasks: [retention],
    customers: [{ id: 'brief', retentionDays: 2 }, { id: 'long' }],
    now: () => NOW,
  })
  followers.push(follower)
  return follower
}

function read<Row>({ copy }: TestFollower, sql: string): Row[] {
  const database = new Database(join(copy, 'events.db'), { readonly: true })
  try {
    return database.prepare<[], Row>(sql).all()
  } finally {
    database.close()
  }
}

const keptOf = (follower: TestFollower) =>
  read<{ seq: number }>(follower, "SELECT seq FROM events WHERE operation <> '' ORDER BY seq").map(
    ({ seq }) => seq,
  )

test('expired events leave the stream and every copy, after their figures are closed', async () => {
  const one = await start()
  const { broker } = one
  const seqs: number[] = []
  for (const [customer, days] of [
    ['brief', 5],
    ['long', 5],
    ['brief', 4],
    ['brief', 0],
    ['long', 0],
  ] as const)
    seqs.push(
      await publishEvent(broker, makeLogEvent({ customer, receivedAt: NOW - days * DAY_MS })),
    )
  const [, second, , fourth, fifth] = seqs
  const other = await start()
  const left = [second, fourth, fifth]
  await expect.poll(() => keptOf(one), SOON).toEqual(left)
  await expect.poll(() => keptOf(other), SOON).toEqual(left)
  for (const follower of [one, other]) {
    await expect
      .poll(() => read(follower, 'SELECT customer FROM closed_reports'), SOON)
      .toEqual([{ customer: 'brief' }])
    await expect
      .poll(() => read(follower, 'SELECT customer, utm FROM closed_figures'), SOON)
      .toEqual([{ customer: 'brief', utm: UTM }])
    await expect
      .poll(() => read(follower, 'SELECT customer FROM swept'), SOON)
      .toEqual([{ customer: 'brief' }])
  }
  const inStream = await Promise.all(
    seqs.map(async (seq) => (await broker.jsm.streams.getMessage(streamOf(0), { seq })) !== null),
  )
  expect(inStream).toEqual([false, true, false, true, true])
  // A copy that is made later is the same.
  const third = await start()
  await expect.poll(() => third.position(), SOON).toBeGreaterThanOrEqual(fifth as number)
  expect(keptOf(third)).toEqual(left)
  expect(followers.flatMap(({ errors }) => errors)).toEqual([])
})

test('of orders and subscribers, every copy has the states of the records that are left', async () => {
  const own = takeAccount()
  const broker = await connectBroker({ ...own, partitions: 1, duplicateWindowMs: 1_000 })
  const records = [
    ['saveOrder', { number: 'OLD' }, 5],
    ['saveOrder', { number: 'SENT' }, 5],
    ['updateOrderStatus', { order_number: 'OLD', order_status: 'new' }, 5],
    ['removeSubscriber', { email: 'old@shop.example' }, 5],
    ['removeSubscriber', { email: 'new@shop.example' }, 5],
    ['updateOrderStatus', { order_number: 'SENT', order_status: 'sent' }, 0],
    ['removeSubscriber', { email: 'new@shop.example' }, 0],
    ['saveOrder', { number: 'NEW' }, 0],
  ] as const
  const seqs: number[] = []
  for (const [operation, payload, days] of records) {
    const receivedAt = NOW - days * DAY_MS
    seqs.push(await publishEvent(broker, makeRecord('brief', operation, payload, { receivedAt })))
  }
  const [sent, removed, saved] = seqs.slice(-3) as [number, number, number]
  await broker.close()
  for (let followers = 0; followers < 2; followers++) {
    const follower = await start(own)
    await expect
      .poll(() => read(follower, 'SELECT seq, status_seq, status FROM orders ORDER BY seq'), SOON)
      .toEqual([
        { seq: 0, status_seq: sent, status: 'sent' },
        { seq: saved, status_seq: 0, status: null },
      ])
    await expect
      .poll(() => read(follower, 'SELECT seq FROM subscribers'), SOON)
      .toEqual([{ seq: removed }])
  }
  expect(followers.flatMap(({ errors }) => errors)).toEqual([])
})
