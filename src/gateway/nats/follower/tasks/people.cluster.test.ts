import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, expect, inject, test, vi } from 'vitest'
import {
  makeLogEvent,
  publishEvent,
  startTestFollower,
  type TestFollower,
} from '../../../../test/followers.ts'
import { makeRecord } from '../../../../test/orderRecords.ts'
import { takeAccount } from '../../../../test/sharedCluster.ts'
import type { LogEvent } from '../../../collect/eventLog.ts'
import { openStore } from '../../../sqlite/store.ts'
import { encodeEvent } from '../../eventMessage.ts'
import { eventSubject, streamOf } from '../../names.ts'
import { createNatsPeople } from '../../people.ts'
import type { LongAnswer } from '../jobs.ts'
import { startPeople } from './people.ts'

/** Long, for busy machines. A test starts several followers. */
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 })
const SOON = { timeout: 60_000, interval: 50 }
const account = takeAccount()
const followers: TestFollower[] = []
afterAll(() => Promise.all(followers.map((follower) => follower.stop(true))))

async function start(): Promise<TestFollower> {
  const follower = await startTestFollower({ account, tasks: [startPeople] })
  followers.push(follower)
  return follower
}

const ANA = 'ana.unmistakable@shop.example'
const ofAna = (given: Partial<LogEvent> = {}): LogEvent =>
  makeLogEvent({
    customer: 'shop',
    did: 'd-ana',
    payload: JSON.stringify({ did: 'd-ana', search_term: `gift for ${ANA}` }),
    ...given,
  })

/** Whether the bytes of a file in these folders have a text. */
const contain = (text: string, ...folders: string[]): boolean =>
  folders.some((folder) =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .some((entry) => readFileSync(join(entry.parentPath, entry.name)).includes(text)),
  )

/** The account of user u7 is A7. */
const streamFolders = [0, 1, 2].map((node) =>
  join(
    ...[inject('clusterFolder'), `n${node}`, 'jetstream'],
    ...[account.user.replace('u', 'A'), 'streams'],
  ),
)

/** The ids of events that a copy has, and of those it only knows. */
function eventsOf({ copy }: TestFollower) {
  const database = new Database(join(copy, 'events.db'), { readonly: true })
  try {
    const ids = (isKept: boolean) =>
      database
        .prepare(`SELECT lower(hex(id)) FROM events WHERE (operation <> '') = ? ORDER BY seq`)
        .pluck()
        .all(isKept ? 1 : 0)
    return { kept: ids(true), known: ids(false) }
  } finally {
    database.close()
  }
}

const hexOf = (id: string): string => id.replaceAll('-', '')

test('an erased person is nowhere: not in the stream, its copies, or a copy that is made later', async () => {
  const [one, other] = await Promise.all([start(), start()])
  const { broker } = one
  const stream = streamOf(0)
  const given = ofAna({
    operation: 'setEmail',
    event: 'set_email',
    payload: JSON.stringify({ did: 'd-ana', event: 'set_email', email_address: ANA }),
  })
  const searched = ofAna()
  const foreign = makeLogEvent({ customer: 'shop', did: 'd-ben' })
  const seqs: number[] = []
  for (const event of [given, searched, foreign]) seqs.push(await publishEvent(broker, event))
  // As an outbox does after the duplicate window.
  const repeat = (event: LogEvent) =>
    broker.js.publish(eventSubject(0, event.customer), encodeEvent(event))
  const { seq: repeated } = await repeat(searched)
  await expect.poll(() => [one.position(), other.position()], SOON).toEqual([repeated, repeated])
  const people = createNatsPeople(one.ask, () => 0)

  await expect
    .poll(() => people.find('shop', { email: ANA }).catch(() => undefined), SOON)
    .toMatchObject({ events: 2, devices: 1, dids: ['d-ana'] })
  expect(await people.find('shop', { email: 'nobody@shop.example' })).toBeUndefined()
  const exported = await people.export('shop', { did: 'd-ana' })
  let json = ''
  for (let piece = await exported?.next(); piece; piece = await exported?.next())
    json += Buffer.from(piece)
  exported?.end()
  expect(JSON.parse(json).events.map(({ id }: { id: string }) => id)).toEqual([
    given.id,
    searched.id,
  ])
  expect(contain(ANA, ...streamFolders)).toBe(true)

  const proof = await people.erase('shop', { email: ANA })
  expect(proof).toMatchObject({ customer: 'shop', events: 2, devices: 1, proof: 1 })
  expect(proof?.ended).toBeTypeOf('number')
  expect(contain(ANA, ...streamFolders)).toBe(false)
  const messageAt = (seq: number) => broker.jsm.streams.getMessage(stream, { seq })
  expect(
    await Promise.all([seqs[0], seqs[1], repeated].map((seq) => messageAt(seq as number))),
  ).toEqual([null, null, null])
  expect(await messageAt(seqs[2] as number)).not.toBeNull()
  for (const follower of [one, other])
    await expect.poll(() => contain(ANA, follower.copy), SOON).toBe(false)
  const known = { kept: [hexOf(foreign.id)], known: [hexOf(given.id), hexOf(searched.id)] }
  expect([eventsOf(one), eventsOf(other)]).toEqual([known, known])
  expect(await people.erase('shop', { email: ANA })).toBeUndefined()

  // It comes again, as a page without connection sends it.
  const { seq: late } = await repeat(searched)
  const next = makeLogEvent({ customer: 'shop', id: randomUUID(), did: 'd-ben' })
  const last = await publishEvent(broker, next)
  await expect.poll(() => messageAt(late), SOON).toBeNull()
  expect(contain(ANA, ...streamFolders)).toBe(false)

  // A follower that has never seen the events.
  const third = await start()
  await expect.poll(() => third.position(), SOON).toBeGreaterThanOrEqual(last)
  const all = { ...known, kept: [hexOf(foreign.id), hexOf(next.id)] }
  await expect.poll(() => [one, other, third].map(eventsOf), SOON).toEqual([all, all, all])

  // The follower that takes over knows the proof.
  const findHolder = () => [one, other, third].find((follower) => follower.isHeld())
  const holder = await vi.waitUntil(findHolder, SOON)
  const asker = [one, other, third].find((follower) => follower !== holder) as TestFollower
  followers.splice(followers.indexOf(holder), 1)
  await holder.stop(true)
  const after = createNatsPeople(asker.ask, () => 0)
  await expect.poll(() => after.proofs('shop').catch(() => []), SOON).toEqual([proof])
  expect(followers.flatMap(({ errors }) => errors)).toEqual([])
})

/** The states that a copy has, by what they are about. */
function statesOf({ copy }: TestFollower): readonly number[] {
  const store = openStore(join(copy, 'events.db'))
  try {
    const orders = ['ANA-1', 'BEN-1'].map((number) => store.findOrder('boutique', number)?.seq ?? 0)
    const { addresses } = store.listUnsubscribed('boutique', { from: 0, to: Date.now() + 1 })
    return [...orders, addresses.length]
  } finally {
    store.close()
  }
}

test('orders and subscriptions of an erased person are nowhere, and their states in no copy', async () => {
  const [one, other] = await Promise.all([start(), start()])
  const { broker } = one
  const email = 'vera.unmistakable@shop.example'
  const orderOf = (number: string, email_address: string) =>
    makeRecord('boutique', 'saveOrder', {
      ...{ number, email_address, phone: `+40 ${email_address}`, firstname: email_address },
      address: `Street of ${email_address}`,
    })
  const statusOf = (order_number: string) =>
    makeRecord('boutique', 'updateOrderStatus', { order_number, order_status: 'sent' })
  const events = [
    statusOf('ANA-1'),
    orderOf('ANA-1', email),
    orderOf('BEN-1', 'ben@shop.example'),
    statusOf('BEN-1'),
    makeRecord('boutique', 'removeSubscriber', { email }),
  ]
  const seqs: number[] = []
  for (const event of events) seqs.push(await publishEvent(broker, event))
  const [, ofAna, ofBen, , last] = seqs as [number, number, number, number, number]
  for (const follower of [one, other]) {
    await expect.poll(() => follower.position(), SOON).toBeGreaterThanOrEqual(last)
    expect(statesOf(follower)).toEqual([ofAna, ofBen, 1])
  }
  const people = createNatsPeople(one.ask, () => 0)
  await expect
    .poll(() => people.find('boutique', { email }).catch(() => undefined), SOON)
    .toMatchObject({ operations: { saveOrder: 1, updateOrderStatus: 1, removeSubscriber: 1 } })
  expect(await people.erase('boutique', { email })).toMatchObject({ events: 3 })
  for (const text of ['vera.unmistakable', 'ANA-1']) {
    expect(contain(text, ...streamFolders)).toBe(false)
    for (const { copy } of [one, other])
      await expect.poll(() => contain(text, copy), SOON).toBe(false)
  }
  const later = await start()
  await expect.poll(() => later.position(), SOON).toBeGreaterThan(last)
  for (const follower of [one, other, later])
    await expect.poll(() => statesOf(follower), SOON).toEqual([0, ofBen, 0])
  expect(followers.flatMap(({ errors }) => errors)).toEqual([])
})

test('an erasure whose answer is lost has its proof, and a person that is unknown has none', async () => {
  const one = await start()
  const email = 'dora.unmistakable@shop.example'
  await publishEvent(one.broker, makeRecord('lost', 'addSubscriber', { email }))
  let isLost = false
  const people = createNatsPeople(
    async (...question) => {
      const answer = await one.ask(...question)
      if (question[1] !== 'erasePerson' || isLost) return answer as never
      isLost = (answer as LongAnswer<unknown>).isDone
      return { isDone: false } as never
    },
    () => 0,
  )
  const proof = await people.erase('lost', { email })
  expect(proof).toMatchObject({ customer: 'lost', events: 1, ended: expect.any(Number) })
  expect(isLost).toBe(true)
  expect(await people.proofs('lost')).toEqual([proof])
  isLost = false
  expect(await people.erase('lost', { email })).toBeUndefined()
  expect(isLost).toBe(true)
})
