import { rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { object, string } from 'valibot'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { makeFolder } from '../../test/gateway.ts'
import type { LogEvent } from '../collect/eventLog.ts'
import { type DestinationGiven, MAX_DESTINATIONS_OF_ONE } from '../forward/forwarding.ts'
import type { Kind } from '../forward/kind.ts'
import { toCells } from './cells.ts'
import { createDestinations, type Destinations } from './destinations.ts'
import { type ForwardLog, openForwardLog } from './forwardLog.ts'
import { type ForwardStore, openForwardStore } from './forwardStore.ts'
import { openStore, type Store } from './store.ts'

const KIND: Kind = {
  name: 'webhook',
  settings: object({ url: string('Expected an address'), secret: string('It is missing') }),
  secrets: ['secret'],
  required: ['event'],
  maxEvents: 10,
  describe: ({ url }) => `${url}`,
  open: () => {
    throw new Error('Nothing is sent here')
  },
}
const SETTINGS = { url: 'https://shop.example/hook', secret: 'whsec_hidden' }
const GIVEN: DestinationGiven = { customer: 'shop', kind: 'webhook', settings: SETTINGS }

let folder: string
let events: Store
let log: ForwardLog
let store: ForwardStore
let destinations: Destinations
let clock: number

beforeEach(() => {
  folder = makeFolder()
  events = openStore(join(folder, 'events.db'))
  log = openForwardLog(join(folder, 'events.db'))
  store = openForwardStore(join(folder, 'forward.db'))
  clock = 1_000_000
  destinations = createDestinations({
    store,
    log,
    kinds: new Map([['webhook', KIND]]),
    isCustomer: (customer) => customer !== 'removed',
    now: () => clock,
  })
})
afterEach(() => {
  for (const opened of [store, log, events]) opened.close()
  rmSync(folder, { recursive: true })
})

const idOf = (n: number) => `0190f3a2-7c41-7d11-9a3e-${String(n).padStart(12, '0')}`
const PAYLOAD = {
  did: 'd-1',
  event: 'search',
  url: 'https://shop.example/?q=mug',
  http_user_agent: 'Mozilla/5.0',
  remote_addr: '203.0.113.7',
  search_term: 'mug',
}

/** Stores events whose number is also the time at which they arrive. */
function append(numbers: readonly number[], given: Partial<LogEvent> = {}): void {
  events.append(
    toCells(
      numbers.map((n) => ({
        customer: 'shop',
        id: idOf(n),
        at: n,
        receivedAt: n,
        operation: 'search',
        event: 'search',
        did: 'd-1',
        bot: false,
        version: null,
        payload: JSON.stringify(PAYLOAD),
        ...given,
      })),
    ),
  )
}

function add(given: Partial<DestinationGiven> = {}) {
  const added = destinations.add({ ...GIVEN, ...given })
  if (!added.ok) throw new Error(added.faults.join())
  return added.destination
}

const faultsOf = (given: object) => destinations.add({ ...GIVEN, ...given } as DestinationGiven)
const positionOf = (id: string) => store.progress(id)?.seq

/** Makes letters of the events with these positions. */
function refuse(id: string, seqs: readonly number[], reason = 'It answered 422'): void {
  store.lease('me', [id], clock)
  store.settle(id, 'me', {
    delivered: 0,
    failed: 0,
    lost: 0,
    settledLetters: [],
    refused: seqs.map((seq) => ({
      seq,
      eventId: idOf(seq),
      operation: 'search',
      reason,
      firstAt: clock,
      lastAt: clock,
      attempts: 1,
    })),
  })
}

test('a destination is listed without its secrets, in a file that only its owner can read', () => {
  append([1, 2])
  const shown = add({ name: 'Warehouse', leaveOut: ['remote_addr'] })
  append([3])
  clock = 10
  const [status, ...more] = destinations.list('shop')
  expect(more).toEqual([])
  expect(status).toEqual({
    destination: {
      id: shown.id,
      customer: 'shop',
      kind: 'webhook',
      name: 'Warehouse',
      isPaused: false,
      operations: [],
      leaveOut: ['remote_addr'],
      takesCookieless: false,
      takesBots: false,
      settings: { url: SETTINGS.url },
      receives: SETTINGS.url,
    },
    state: { name: 'running', since: null, reason: null, nextAt: null },
    lagEvents: 1,
    lagMs: 7,
    delivered: 0,
    failed: 0,
    lost: 0,
    letters: 0,
  })
  expect(shown.id).toMatch(/^[a-z\d]{10}$/)
  expect(store.find(shown.id)?.settings).toEqual(SETTINGS)
  expect(JSON.stringify([shown, destinations.list()])).not.toContain('hidden')
  expect(destinations.list('other')).toEqual([])
  expect(statSync(join(folder, 'forward.db')).mode & 0o777).toBe(0o600)
})

test('everything that is wrong is said at once', () => {
  const added = faultsOf({
    name: 'x'.repeat(129),
    operations: ['serch', 'evets'],
    leaveOut: ['remote_address', 'event'],
    settings: { url: 7 },
  })
  expect(added).toEqual({
    ok: false,
    faults: [
      'Expected a name of at most 128 characters',
      expect.stringMatching(/^There is no operation serch\. .*Did you mean search\?$/),
      expect.stringMatching(
        /^There is no operation evets\. .* one of events, all, .*mean events\?$/,
      ),
      expect.stringMatching(/^There is no field remote_address\. /),
      expect.stringMatching(/can not do without event/),
      'url: Expected an address',
      expect.stringContaining('secret: '),
    ],
  })
  expect(faultsOf({ kind: 'webhok' })).toEqual({
    ok: false,
    faults: [expect.stringContaining('Did you mean webhook?')],
  })
  expect(faultsOf({ customer: 'removed' })).toEqual({
    ok: false,
    faults: ['There is no customer removed'],
  })
  expect(destinations.list()).toEqual([])
})

test('a customer has a bounded number of destinations', () => {
  for (let i = 0; i < MAX_DESTINATIONS_OF_ONE; i++) add()
  expect(faultsOf({})).toEqual({
    ok: false,
    faults: [`The customer shop has ${MAX_DESTINATIONS_OF_ONE} destinations already`],
  })
  add({ customer: 'other' })
})

test('a destination starts at the end, at the beginning or at a time', () => {
  append([10, 20])
  append([30], { customer: 'other' })
  append([40, 50])
  expect(positionOf(add().id)).toBe(5)
  expect(positionOf(add({ from: 'beginning' }).id)).toBe(0)
  const starts = [0, 10, 11, 20, 21, 30, 40, 41, 51]
  expect(starts.map((from) => positionOf(add({ from }).id))).toEqual([0, 0, 1, 1, 2, 2, 2, 4, 5])
})

test('a change keeps what it does not name, and null removes a setting', () => {
  const { id } = add({ name: 'One' })
  const changed = destinations.change('shop', id, {
    isPaused: true,
    settings: { url: 'https://shop.example/2' },
  })
  expect(changed).toMatchObject({ ok: true, destination: { name: 'One', isPaused: true } })
  expect(store.find(id)).toMatchObject({
    revision: 2,
    settings: { url: 'https://shop.example/2', secret: SETTINGS.secret },
  })
  expect(destinations.list()[0]?.state.name).toBe('paused')
  expect(destinations.change('shop', id, { settings: { secret: null } })).toMatchObject({
    ok: false,
  })
  expect(store.find(id)?.revision).toBe(2)
})

test('nothing of another customer can be reached', () => {
  append([1])
  const { id } = add({ from: 'beginning' })
  refuse(id, [1])
  expect(destinations.change('other', id, { name: 'mine' })).toBeUndefined()
  expect(destinations.letters('other', id)).toBeUndefined()
  expect(destinations.mend('other', id, {})).toBeUndefined()
  expect(destinations.replay('other', id)).toBeUndefined()
  expect(destinations.discard('other', id)).toBeUndefined()
  expect(destinations.remove('other', id)).toBe(false)
  expect(destinations.list()[0]).toMatchObject({ destination: { name: '' }, letters: 1 })
})

test('letters are read in pages, mended, marked for a replay and discarded', () => {
  append([1, 2, 3, 4])
  const { id } = add({ leaveOut: ['remote_addr'] })
  refuse(id, [1, 2, 4])
  refuse(id, [3], 'another reason')
  const first = destinations.letters('shop', id, { max: 2 })
  expect(first).toMatchObject({
    next: 2,
    count: 4,
    groups: [
      { operation: 'search', reason: 'It answered 422', count: 3 },
      { operation: 'search', reason: 'another reason', count: 1 },
    ],
  })
  const { remote_addr: _, ...payload } = PAYLOAD
  expect(first?.letters[0]).toEqual({
    seq: 1,
    eventId: idOf(1),
    operation: 'search',
    reason: 'It answered 422',
    firstAt: clock,
    lastAt: clock,
    attempts: 1,
    patch: null,
    isReplayed: false,
    fault: null,
    payload,
  })
  const second = destinations.letters('shop', id, { max: 2, after: 2 })
  expect(second?.letters.map(({ seq }) => seq)).toEqual([3, 4])

  const filter = { reason: 'another reason' }
  const patch = { search_term: 'cup', source: null }
  expect(destinations.mend('shop', id, patch, filter)).toEqual({ ok: true, count: 1 })
  expect(destinations.replay('shop', id, { seq: 4 })).toEqual({ ok: true, count: 1 })
  expect(destinations.letters('shop', id)?.letters).toMatchObject([
    { seq: 1, patch: null, isReplayed: false },
    { seq: 2, patch: null, isReplayed: false },
    { seq: 3, patch, isReplayed: false, payload: { ...payload, search_term: 'cup' } },
    { seq: 4, patch: null, isReplayed: true },
  ])
  expect(destinations.mend('shop', id, null)).toEqual({ ok: true, count: 4 })
  expect(destinations.letters('shop', id, filter)).toMatchObject({
    letters: [{ patch: null }],
    count: 1,
  })
  expect(destinations.discard('shop', id, { operation: 'addToCart' })).toEqual({
    ok: true,
    count: 0,
  })
  expect(destinations.discard('shop', id)).toEqual({ ok: true, count: 4 })
  expect(destinations.letters('shop', id)).toEqual({ letters: [], count: 0, groups: [] })
})

test('a patch is an object of bounded size and depth', () => {
  const { id } = add()
  const mend = (patch: unknown) => destinations.mend('shop', id, patch as Record<string, unknown>)
  expect(mend(['a'])).toMatchObject({ ok: false })
  expect(mend({ source: 'x'.repeat(16_384) })).toMatchObject({ ok: false })
  const [deep, lists] = [
    `${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`,
    `{"a":${'['.repeat(5_000)}${']'.repeat(5_000)}}`,
  ]
  expect(mend(JSON.parse(deep))).toMatchObject({ ok: false })
  expect(mend(JSON.parse(lists))).toMatchObject({ ok: false })
  expect(mend({ source: 'x' })).toEqual({ ok: true, count: 0 })
})

test('a letter is not shown when its event was removed from the log', () => {
  append([1, 2])
  const { id } = add()
  refuse(id, [1, 2])
  events.removeEvents([1])
  expect(destinations.letters('shop', id)?.letters.map(({ seq }) => seq)).toEqual([2])
  expect(store.letters.positions(0, 9)).toEqual([1, 2])
  expect(store.letters.removeEvents([1])).toBe(1)
  expect(destinations.letters('shop', id)?.count).toBe(1)
})

test('a letter is not shown when the log was replaced and has another event at its position', () => {
  append([1, 20])
  const { id } = add()
  refuse(id, [1, 2])
  expect(destinations.letters('shop', id)?.letters.map(({ seq }) => seq)).toEqual([1])
})

test('a removed destination leaves nothing', () => {
  append([1])
  const { id } = add()
  refuse(id, [1])
  expect(destinations.remove('shop', id)).toBe(true)
  expect(destinations.list()).toEqual([])
  expect(store.letters.count(id)).toBe(0)
  expect(store.progress(id)).toBeUndefined()
  expect(
    store.settle(id, 'me', { delivered: 1, failed: 0, lost: 0, refused: [], settledLetters: [] }),
  ).toBe(false)
})

test('one owner has the lease until it ends or gives it back', () => {
  const { id } = add()
  expect([...store.lease('a', [id], 0)]).toEqual([id])
  expect([...store.lease('b', [id], 5_999)]).toEqual([])
  expect([...store.lease('a', [id], 4_000)]).toEqual([id])
  expect([...store.lease('b', [id], 9_999)]).toEqual([])
  expect([...store.lease('b', [id], 10_000)]).toEqual([id])
  expect(
    store.settle(id, 'a', { delivered: 1, failed: 0, lost: 0, refused: [], settledLetters: [] }),
  ).toBe(false)
  store.release('b')
  expect([...store.lease('a', [id], 10_000)]).toEqual([id])
  // The clock was an hour ahead when it was taken.
  store.lease('a', [id], 3_600_000)
  expect([...store.lease('b', [id], 11_000)]).toEqual([id])
  expect([...store.lease('b', ['unknown'], 11_000)]).toEqual([])
})

test('a position is kept in its log, and found again in one that was replaced', () => {
  append([10, 20, 30])
  const at = log.end()
  expect(at).toEqual({ seq: 3, event: idOf(30), receivedAt: 30 })
  expect(log.locate('shop', at)).toEqual(at)
  events.removeEvents([3])
  expect(log.locate('shop', at)).toEqual(at)
  // A backup of when there were two events.
  const other = { ...at, seq: 9 }
  expect(log.locate('shop', other)).toMatchObject({ seq: 2, event: idOf(20) })
  append([40])
  expect(log.locate('shop', { seq: 4, event: idOf(35), receivedAt: 35 })).toMatchObject({ seq: 2 })
  expect(log.locate('shop', { seq: 9, event: idOf(35), receivedAt: null })).toMatchObject({
    seq: 4,
  })
})
