// @vitest-environment happy-dom
import { expect, test, vi } from 'vitest'
import { MAX_EVENT_BYTES } from '../contract/delivery.ts'
import { UUID } from '../contract/uuid.ts'
import { createMemoryStorage } from '../test/storage.ts'
import type { Config } from './config.ts'
import { createDeviceId } from './deviceId.ts'
import { createIsDuplicate } from './duplicates.ts'
import type { Flush } from './flush.ts'
import { createStore } from './lib/storage.ts'
import { createNotices, type Notice } from './notices.ts'
import { createOutbox } from './outbox.ts'
import { createTrack, type Track } from './track.ts'

/** A page with real modules up to the outbox. Nothing is sent: `flush.fresh` only counts its calls. */
function openPage(keys: readonly Partial<Config>[] = [{}], fresh: () => void = () => {}) {
  const storage = createMemoryStorage()
  const store = createStore(() => storage)
  const configs = new Map<string, Config>()
  for (const more of keys) {
    const config = { key: 'DEMOSHOP', base: 'https://gw.example', ...more }
    configs.set(config.key, config)
  }
  const outbox = createOutbox(store)
  const notices = createNotices()
  const emitted: (Notice & { kind: string })[] = []
  for (const kind of ['accepted', 'dropped'] as const)
    notices.on(kind, (notice) => emitted.push({ kind, ...notice }))
  const flush = { busy: 0, fresh: vi.fn(fresh) } as Partial<Flush> as Flush
  const deviceId = createDeviceId(store, () => ({ cookie: '' }))
  const isDuplicate = createIsDuplicate(new Map())
  const track = createTrack(configs, deviceId, outbox, flush, notices, isDuplicate)
  return { storage, outbox, flush, notices, emitted, track, deviceId, configs }
}

const nextTask = () => new Promise((resolve) => setTimeout(resolve))
const line = { product_id: 7, quantity: 1, variation: { id: '7-1', sku: 'A7' } }
const bodies = ({ outbox }: ReturnType<typeof openPage>) =>
  outbox.own().map(({ body }) => JSON.parse(body))
/** The paths of the issues, or the drop reason, or `ok`. */
const faults = (outcome: ReturnType<Track>) => {
  if (outcome.ok) return 'ok'
  const { error } = outcome
  return typeof error === 'string' ? error : error.issues.map(({ path }) => path)
}

test.each([
  ['id', 'x'],
  ['only', () => false],
  ['from', 'ga4'],
  ['url', 'https://evil.example/'],
])('extending Object.prototype does not change an event: %s', (name, value) => {
  const page = openPage()
  Object.defineProperty(Object.prototype, name, { value, configurable: true })
  try {
    expect(page.track('search', { search_term: 'mug' }, { where: 1 })).toEqual({
      ok: true,
      id: expect.stringMatching(UUID),
    })
    expect(bodies(page)).toMatchObject([{ url: location.href }])
  } finally {
    Reflect.deleteProperty(Object.prototype, name)
  }
})

test('an accepted event is in the outbox under its id, and sent, with a notice', async () => {
  const page = openPage()
  const before = Date.now()
  const outcome = page.track('addToCart', line)
  expect(outcome).toMatchObject({ ok: true, id: expect.stringMatching(UUID) })
  const [entry] = page.outbox.all()
  expect(entry).toMatchObject({ name: outcome.ok && outcome.id, key: 'DEMOSHOP' })
  expect(entry?.at).toBeGreaterThanOrEqual(before)
  expect(bodies(page)).toEqual([
    {
      did: page.deviceId.get(),
      event: 'add_to_cart',
      url: location.href,
      http_user_agent: navigator.userAgent,
      ...line,
    },
  ])
  expect(page.flush.fresh).toHaveBeenCalledOnce()
  await nextTask()
  expect(page.emitted).toMatchObject([
    { kind: 'accepted', id: outcome.ok && outcome.id, operation: 'addToCart', key: 'DEMOSHOP' },
  ])
})

test('notices say what has reported the event, also those of its delivery', async () => {
  const page = openPage()
  page.track('search', { search_term: 'mug' })
  page.track('search', { search_term: 'cup' }, { from: 'attribute', where: 'form' })
  page.track('search', {}, { from: 'ga4.gtag' })
  page.track('viewHomepage', { url: 'x' }, { from: 'pageView' })
  await nextTask()
  expect(page.emitted.map(({ kind, from }) => [kind, from])).toEqual([
    ['accepted', 'call'],
    ['accepted', 'attribute'],
    ['dropped', 'ga4.gtag'],
    ['dropped', 'pageView'],
  ])
  expect(page.outbox.own().map(({ about }) => about)).toEqual([
    { operation: 'search', from: 'call', where: undefined },
    { operation: 'search', from: 'attribute', where: 'form' },
  ])
})

test('options: where, when and under which id', async () => {
  const page = openPage()
  const id = '01890000-0000-7000-8000-000000000001'
  const url = 'https://shop.example/then?token=1'
  expect(page.track('search', { search_term: 'mug' }, { id, at: 5, url, where: 'w' })).toEqual({
    ok: true,
    id,
  })
  expect(page.outbox.own()).toMatchObject([{ name: id, at: 5 }])
  expect(bodies(page)).toMatchObject([{ url: 'https://shop.example/then?token=***' }])
  await nextTask()
  expect(page.emitted).toMatchObject([{ where: 'w' }])
})

test('an invalid event has every issue, and is not kept or sent', async () => {
  const page = openPage()
  const outcome = page.track('addToCart', { product_id: '7x', quantity: '1' })
  expect(faults(outcome)).toEqual(['product_id', 'quantity', 'variation'])
  expect(outcome).toMatchObject({ error: { name: 'ValidationException' } })
  expect(page.outbox.all()).toEqual([])
  expect(page.flush.fresh).not.toHaveBeenCalled()
  await nextTask()
  expect(page.emitted).toMatchObject([
    { kind: 'dropped', reason: 'invalid', operation: 'addToCart', error: { issues: [{}, {}, {}] } },
  ])
})

test.each(['addtocart', 'constructor', 'toString', '__proto__', ''])(
  'an unknown operation: %s',
  async (operation) => {
    const page = openPage()
    const where = document.createElement('button')
    expect(page.track(operation as 'search', { search_term: 'mug' }, { where }).ok).toBe(false)
    expect(page.outbox.all()).toEqual([])
    await nextTask()
    expect(page.emitted).toMatchObject([{ kind: 'dropped', reason: 'invalid', operation, where }])
  },
)

test('sendCustom has no default name', () => {
  const { track } = openPage([{ eventPrefix: 'eu_' }])
  expect(faults(track('sendCustom', { email: 'a@b.example' }))).toEqual(['event'])
  expect(faults(track('sendCustom', { email: 'a@b.example', event: 'quiz' }))).toBe('ok')
})

test('the largest valid event fits into a request', () => {
  const page = openPage([{ remoteAddr: '\x01'.repeat(2048), source: '\x01'.repeat(2048) }])
  // Control characters have the most bytes in JSON: six each.
  const odd = (characters: number) => '\x01'.repeat(characters)
  const outcome = page.track('setEmail', {
    did: odd(127).concat('x'),
    event: odd(127).concat('x'),
    url: `https://shop.example/${odd(8170)}x`,
    http_user_agent: `x${odd(1023)}`,
    email_address: `${'𝒳'.repeat(64)}@${'𝒳'.repeat(180)}.example`,
    firstname: odd(2048),
    lastname: odd(2048),
    phone: odd(2048),
  })
  expect(faults(outcome)).toBe('ok')
  const bytes = new Blob([page.outbox.own()[0]?.body ?? '']).size
  expect(bytes).toBeGreaterThan(100_000)
  expect(bytes).toBeLessThanOrEqual(MAX_EVENT_BYTES)
})

test('two keys: one id, an entry for each, with its settings', () => {
  const page = openPage([
    { eventPrefix: 'a_' },
    { key: 'OTHERKEY', eventPrefix: 'b_', source: 's' },
  ])
  const outcome = page.track('viewHomepage', {})
  const id = outcome.ok ? outcome.id : ''
  expect(page.outbox.own()).toMatchObject([
    { name: id, key: 'DEMOSHOP' },
    { name: `${id}.OTHERKEY`, key: 'OTHERKEY' },
  ])
  expect(bodies(page)).toMatchObject([
    { event: 'a_view_homepage' },
    { event: 'b_view_homepage', source: 's' },
  ])
})

test('two keys, one drops it: ok if any accepts, and a notice of the drop', async () => {
  const source = 5 as never
  for (const keys of [
    [{ source }, { key: 'OTHERKEY' }],
    [{}, { key: 'OTHERKEY', source }],
  ]) {
    const page = openPage(keys)
    expect(faults(page.track('viewHomepage', {}))).toBe('ok')
    expect(page.outbox.own()).toHaveLength(1)
    await nextTask()
    expect(page.emitted.map(({ kind }) => kind).sort()).toEqual(['accepted', 'dropped'])
  }
})

test('for some of the keys only', () => {
  const page = openPage([{}, { key: 'OTHERKEY' }])
  page.track('viewHomepage', {}, { only: ({ key }) => key === 'OTHERKEY' })
  expect(page.outbox.own()).toMatchObject([{ key: 'OTHERKEY' }])
})

test('an early call for a key that joins does not replace the entry of the first key', () => {
  const page = openPage()
  const id = '01890000-0000-7000-8000-000000000001'
  page.track('viewHomepage', {}, { id })
  const joining = { key: 'OTHERKEY', base: 'https://gw.example' }
  page.configs.set(joining.key, joining)
  page.track('viewHomepage', {}, { id, only: (config) => config === joining })
  expect(page.outbox.own().map(({ key }) => key)).toEqual(['DEMOSHOP', 'OTHERKEY'])
  page.outbox.remove(id)
  expect(page.outbox.all()).toMatchObject([{ key: 'OTHERKEY' }])
})

test('a full outbox drops the event, with a notice', async () => {
  const page = openPage()
  for (let i = 0; i < 5000; i++)
    page.outbox.add({ name: `${i}`, at: i, key: 'DEMOSHOP', body: '{}' })
  expect(page.track('viewHomepage', {})).toEqual({ ok: false, error: 'outbox_full' })
  await nextTask()
  expect(page.emitted).toMatchObject([{ kind: 'dropped', reason: 'outbox_full' }])
})

test('a page that tracks inside its own fetch or storage causes no loop', () => {
  const outcomes: unknown[] = []
  const page = openPage([{}], () => {
    outcomes.push(faults(page.track('search', { search_term: 'inner' })))
  })
  expect(faults(page.track('search', { search_term: 'outer' }))).toBe('ok')
  expect(outcomes).toEqual(['ignored'])
  expect(page.outbox.own()).toHaveLength(1)
  // Later calls are accepted again.
  expect(faults(page.track('viewHomepage', {}))).toBe('ok')
})

test('an unreadable payload is reported for each key', async () => {
  const page = openPage([{}, { key: 'OTHER1' }])
  page.track('search', Object.defineProperty({}, 'x', { get: throwing, enumerable: true }))
  await nextTask()
  expect(page.emitted.map(({ kind, key, reason }) => [kind, key, reason])).toEqual([
    ['dropped', 'DEMOSHOP', 'invalid'],
    ['dropped', 'OTHER1', 'invalid'],
  ])
})

test('a dropped event is counted, before its notice', async () => {
  const page = openPage()
  const counted: unknown[] = []
  page.notices.count = ({ reason }) => counted.push(reason)
  page.track('search', {})
  page.track('search', { search_term: 'mug' })
  expect(counted).toEqual(['invalid'])
})

const throwing = () => {
  throw new Error('of the shop')
}
test.each<[string, () => unknown, unknown]>([
  [
    'a getter that throws',
    () => Object.defineProperty({}, 'x', { get: throwing, enumerable: true }),
    [''],
  ],
  ['a proxy that throws', () => new Proxy({}, { ownKeys: throwing }), ['']],
  ['bigint', () => ({ search_term: 10n }), ['search_term']],
  ['a symbol', () => ({ search_term: Symbol('x') }), ['search_term']],
  ['a DOM node', () => ({ search_term: document.createElement('p') }), ['search_term']],
  ['a node for a payload', () => document.body, ['search_term']],
  ['a function', () => ({ search_term: throwing }), ['search_term']],
  [
    'itself',
    () => {
      const given: { search_term?: unknown } = {}
      given.search_term = given
      return given
    },
    ['search_term'],
  ],
  ['null', () => null, ['search_term']],
  ['text', () => 'mug', ['search_term']],
  ['no prototype', () => Object.assign(Object.create(null), { search_term: 'mug' }), 'ok'],
  ['frozen', () => Object.freeze({ search_term: 'mug' }), 'ok'],
  ['a lone surrogate', () => ({ search_term: '\ud800' }), 'ok'],
  ['a NUL', () => ({ search_term: 'a\0b' }), 'ok'],
])('given %s: an outcome, no exception', (_, make, expected) => {
  const page = openPage()
  expect(faults(page.track('search', make()))).toEqual(expected)
  for (const { body } of page.outbox.own()) expect(JSON.parse(body)).toBeTypeOf('object')
})

test('a page that extends prototypes does not change the body', () => {
  const page = openPage()
  const outcomes: unknown[] = []
  const made = [Object.prototype, Array.prototype, String.prototype] as object[]
  try {
    for (const prototype of made) Object.assign(prototype, { toJSON: () => '"junk"' })
    Object.assign(Object.prototype, { search_term: 'nobody gave it' })
    outcomes.push(page.track('search', {}), page.track('addToCart', line))
  } finally {
    for (const prototype of made)
      for (const name of ['toJSON', 'search_term']) Reflect.deleteProperty(prototype, name)
  }
  expect(outcomes).toMatchObject([{ ok: false, error: { issues: [{ path: 'search_term' }] } }, {}])
  expect(bodies(page)).toMatchObject([line])
  expect(bodies(page)[0]).not.toHaveProperty('search_term')
})

test('a storage that fails changes nothing for the caller', () => {
  const page = openPage()
  page.storage.setItem = throwing
  expect(faults(page.track('viewHomepage', {}))).toBe('ok')
  expect(page.outbox.own()).toHaveLength(1)
})
