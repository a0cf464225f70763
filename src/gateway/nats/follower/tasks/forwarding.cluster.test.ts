import { afterAll, expect, test, vi } from 'vitest'
import {
  makeLogEvent,
  publishEvent,
  startTestFollower,
  type TestFollower,
} from '../../../../test/followers.ts'
import { startReceiver, status } from '../../../../test/receiver.ts'
import { takeAccount } from '../../../../test/sharedCluster.ts'
import type { Changed } from '../../../forward/forwarding.ts'
import { createAsk } from '../../ask.ts'
import { createNatsForwarding } from '../../forwarding.ts'
import { createForwardingTask } from './forwarding.ts'

/** Long, for busy machines. A test starts several followers. */
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 })
const SOON = { timeout: 60_000, interval: 50 }
const account = takeAccount()
const receiver = await startReceiver()
const followers = new Set<TestFollower>()
afterAll(async () => {
  await Promise.all([...followers].map((follower) => follower.stop(true)))
  await receiver.close()
})

async function start(): Promise<TestFollower> {
  const follower = await startTestFollower({
    account,
    tasks: [createForwardingTask()],
    customers: [{ id: 'shop' }],
  })
  followers.add(follower)
  return follower
}

const forwardingOf = (follower: TestFollower) =>
  createNatsForwarding({
    ask: follower.ask,
    partitions: 1,
    partitionOf: () => 0,
    held: () => (follower.isHeld() ? [0] : []),
  })

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

/** Events that are refused, by their search term. */
let refused: string | undefined
/** The search terms of the events that were taken, in order. */
const taken: string[] = []
const arrived = () => taken
receiver.answer((request, response, socket) => {
  const terms: string[] = JSON.parse(request.body).events.map(
    ({ payload }: { payload: { search_term: string } }) => payload.search_term,
  )
  const isRefused = refused !== undefined && terms.includes(refused)
  if (!isRefused) taken.push(...terms)
  status(isRefused ? 400 : 204)(request, response, socket)
})

const makeEvent = (term: string) =>
  makeLogEvent({ customer: 'shop', payload: JSON.stringify({ did: 'd-1', search_term: term }) })

test('the follower that takes over continues at the position of the one before, with its dead letters', async () => {
  const [one, other] = await Promise.all([start(), start()])
  await publishEvent(one.broker, makeEvent('first'))
  await expect.poll(() => one.isHeld() || other.isHeld(), SOON).toBe(true)
  const forwarding = forwardingOf(one)
  const add = () =>
    forwarding
      .add({
        customer: 'shop',
        kind: 'webhook',
        settings: { url: `${receiver.url}/hook`, secret: SECRET },
        from: 'beginning',
      })
      // The tasks are being started.
      .catch((): Changed => ({ ok: false, faults: [] }))
  let added: Changed | undefined
  await expect
    .poll(async () => {
      added = await add()
      return added
    }, SOON)
    .toMatchObject({ ok: true })
  const id = added?.ok ? added.destination.id : ''
  await expect.poll(arrived, SOON).toEqual(['first'])

  refused = 'refused'
  await publishEvent(one.broker, makeEvent('refused'))
  await publishEvent(one.broker, makeEvent('second'))
  const lettersOf = (follower: TestFollower) =>
    forwardingOf(follower)
      .letters('shop', id)
      .then((page) => page?.letters.map(({ payload }) => payload.search_term))
      .catch(() => undefined)
  await expect.poll(() => lettersOf(one), SOON).toEqual(['refused'])
  await expect
    .poll(() => forwarding.list().then((all) => all[0]), SOON)
    .toMatchObject({ delivered: 2, letters: 1, lagEvents: 0 })
  // Each destination is in the metrics of one process.
  const figures = [...(await forwardingOf(one).figures()), ...(await forwardingOf(other).figures())]
  expect(figures).toMatchObject([{ id, delivered: 2 }])

  const [holder, standBy] = one.isHeld() ? [one, other] : [other, one]
  followers.delete(holder)
  await holder.stop(true)
  await publishEvent(standBy.broker, makeEvent('third'))
  await expect.poll(arrived, SOON).toContain('third')
  expect(await lettersOf(standBy)).toEqual(['refused'])
  const after = forwardingOf(standBy)
  await expect
    .poll(() => after.list('shop').then((all) => all[0]), SOON)
    .toMatchObject({ destination: { id }, delivered: 3, letters: 1 })
  expect(taken).toEqual(['first', 'second', 'third'])
  refused = undefined
  expect(await after.replay('shop', id)).toEqual({ ok: true, count: 1 })
  await expect
    .poll(() => after.list('shop').then((all) => all[0]), SOON)
    .toMatchObject({ letters: 0 })
  expect(taken.at(-1)).toBe('refused')
  expect(await after.remove('shop', id)).toBe(true)
  expect(standBy.errors).toEqual([])
})

test('a refund is sent with the value of its order, from the copy of a follower', async () => {
  const follower = await start()
  const google = await startReceiver()
  google.answer(status(204))
  const forwarding = forwardingOf(follower)
  const given = {
    customer: 'shop',
    kind: 'ga4',
    operations: ['saveOrder', 'updateOrderStatus'],
    settings: { measurementId: 'G-ABC1234567', apiSecret: 'secret-1', endpoint: google.url },
    from: 'beginning',
  } as const
  await expect
    .poll(() => forwarding.add(given).catch(({ message }) => message), SOON)
    .toMatchObject({ ok: true })
  const publish = (operation: string, payload: object) =>
    publishEvent(follower.broker, {
      ...makeLogEvent({ customer: 'shop', payload: JSON.stringify(payload) }),
      ...{ operation, event: operation, did: null },
    })
  const order = { number: '1042', total_value: '12.50', currency: 'RON', products: [] }
  await publish('saveOrder', order)
  await publish('updateOrderStatus', { order_number: '1042', order_status: 'refunded' })
  const sent = () =>
    google.received.flatMap(({ body }) =>
      (JSON.parse(body) as { events: { name: string; params: object }[] }).events.map(
        ({ name, params }) => ({ name, params }),
      ),
    )
  const params = { transaction_id: '1042', value: 12.5, currency: 'RON' }
  await expect.poll(sent, SOON).toMatchObject([
    { name: 'purchase', params },
    { name: 'refund', params },
  ])
  await google.close()
})

test('a list of all destinations says which partitions no follower answers for', async () => {
  const follower = await start()
  const forwarding = createNatsForwarding({
    ask: createAsk(follower.broker.nc),
    partitions: 3,
    partitionOf: () => 0,
    held: () => [],
  })
  await expect
    .poll(() => forwarding.list().catch(({ message }) => message), SOON)
    .toMatch(/partitions 1, 2 can not be listed.*shoptrail follow/)
})
