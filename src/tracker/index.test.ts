// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, expectTypeOf, test, vi } from 'vitest'
import type { KeySettings } from '../contract/settings.ts'
import { UUID } from '../contract/uuid.ts'
import {
  attributes,
  consent,
  consentSources,
  createTracker,
  type TrackApi,
  type TrackerOptions,
  type TrackerSettings,
} from './index.ts'

const BASE = 'https://gw.example'
const line = { product_id: 7, quantity: 1, variation: { id: '7', sku: '7' } }

/** Each test has a key of its own, since a tracker lives as long as its page. */
let keys = 0
const newKey = () => `KEY${++keys}`

let requests: { readonly url: URL; readonly body: { readonly [name: string]: unknown } }[] = []
beforeEach(() => {
  requests = []
  localStorage.clear()
  vi.stubGlobal('__version__', '1.2.3')
  vi.stubGlobal('__deviceCookie__', true)
  vi.stubGlobal('fetch', async (address: string, { body }: { readonly body: string }) => {
    const url = new URL(address)
    const sent = JSON.parse(body)
    requests.push({ url, body: sent })
    const results = sent.events?.map(({ id }: { readonly id: string }) => ({ id, status: 200 }))
    return Response.json({ id: url.searchParams.get('id'), results })
  })
})
afterEach(() => {
  vi.unstubAllGlobals()
  document.head.innerHTML = ''
  document.body.innerHTML = ''
})

const create = (more: Partial<TrackerOptions> = {}) =>
  createTracker({ key: newKey(), base: BASE, ...more })
const settled = async (tracker: TrackApi) => {
  await tracker.flush()
  return requests
}

test('the settings are those of a key, without what only the gateway and the script use', () => {
  type Known = Omit<KeySettings, 'adoptDid' | 'global' | 'events'>
  type Mutable<T> = T extends readonly (infer I)[]
    ? I[]
    : T extends object
      ? { -readonly [K in keyof T]: Mutable<T[K]> }
      : T
  expectTypeOf<Mutable<Required<Omit<TrackerSettings, 'events'>>>>().toEqualTypeOf<
    Mutable<Required<Known>>
  >()
  expectTypeOf<NonNullable<KeySettings['events']>>().toExtend<
    NonNullable<TrackerSettings['events']>
  >()
})

test('with a source of consent, the tracker waits for the answer of that tool', async () => {
  const tracker = create({ consentSources: ['cookiebot'], parts: { consent, consentSources } })
  void tracker.viewHomepage()
  expect(tracker.consentState).toBe(undefined)
  expect(await settled(tracker)).toEqual([])
  vi.stubGlobal('Cookiebot', { consent: { statistics: true }, hasResponse: true })
  document.dispatchEvent(new Event('CookiebotOnAccept', { bubbles: true }))
  expect(tracker.consentState).toBe('granted')
  expect(await settled(tracker)).toHaveLength(1)
})

test.each([
  ['key', {}],
  ['key', { key: '' }],
  ['base', { key: 'A' }],
  ['base', { key: 'A', base: 'gateway.example' }],
  ['url', { key: 'A', base: BASE, url: 'https://shop.example/' }],
  ['part consent', { key: 'A', base: BASE, gpc: true }],
  ['part consent', { key: 'A', base: BASE, consent: 'required' }],
  ['part consentSources', { key: 'A', base: BASE, exclude: ['/a'], parts: { consent } }],
  ['part dataLayer', { key: 'A', base: BASE, ga4: {} }],
  ['part deviceCookie', { key: 'A', base: BASE, cookieDomain: 'auto' }],
])('a mistake is an error that names the %s', (name, options) => {
  expect(() => createTracker(options as TrackerOptions)).toThrow(TypeError)
  expect(() => createTracker(options as TrackerOptions)).toThrow(name)
})

test('settings that switch something off need no part', () => {
  expect(() =>
    create({ gpc: false, dnt: false, consent: 'granted', consentSources: [], ga4: false }),
  ).not.toThrow()
})

test('events of the helpers are sent to the key, completed by the browser and the settings', async () => {
  const key = newKey()
  const tracker = createTracker({ key, base: `${BASE}/`, eventPrefix: 'x_', source: 'app' })
  const outcome = await tracker.addToCart(line)
  expect(outcome).toMatchObject({ ok: true })
  expect(await settled(tracker)).toMatchObject([
    {
      url: { origin: BASE, pathname: '/t/r' },
      body: {
        ...line,
        event: 'x_add_to_cart',
        did: tracker.did,
        url: location.href,
        http_user_agent: navigator.userAgent,
        source: 'app',
      },
    },
  ])
  expect(requests[0]?.url.searchParams.get('k')).toBe(key)
  expect(localStorage.getItem('track.did')).toBe(tracker.did)
  expect(localStorage).toHaveLength(1)
})

test('events of one task are one request', async () => {
  const tracker = create()
  void tracker.search({ search_term: 'a' })
  void tracker.search({ search_term: 'b' })
  expect(await settled(tracker)).toMatchObject([
    {
      url: { pathname: '/t/batch' },
      body: { events: [{ payload: { search_term: 'a' } }, { payload: { search_term: 'b' } }] },
    },
  ])
})

test('an option that is undefined counts as absent', async () => {
  const names = ['batch', 'source', 'consent', 'eventPrefix', 'url', 'userAgent', 'did', 'storage']
  const absent = Object.fromEntries([...names, 'parts'].map((name) => [name, undefined]))
  const tracker = create(absent as Partial<TrackerOptions>)
  void tracker.search({ search_term: 'a' })
  void tracker.search({ search_term: 'b' })
  expect(await settled(tracker)).toMatchObject([{ url: { pathname: '/t/batch' } }])
})

test('no global variable is made or changed', async () => {
  const names = () => Reflect.ownKeys(globalThis)
  const before = names()
  const tracker = create({ parts: { attributes } })
  await tracker.search({ search_term: 'mug' })
  await settled(tracker)
  expect(names()).toEqual(before)
  expect(performance.shoptrail).toBeUndefined()
})

test('a second call with the same key returns the same tracker; another key has its own', async () => {
  const key = newKey()
  const first = createTracker({ key, base: BASE, source: 'first' })
  expect(createTracker({ key, base: BASE, source: 'second' })).toBe(first)
  const other = create({ source: 'other' })
  expect(other).not.toBe(first)
  await other.search({ search_term: 'mug' })
  expect(await settled(other)).toMatchObject([{ body: { source: 'other' } }])
})

test('address, user agent and device id can be given', async () => {
  let url = 'https://shop.example/a?token=1'
  const tracker = create({ url: () => url, userAgent: 'Sandbox/1', did: 'visitor-1' })
  expect(tracker.did).toBe('visitor-1')
  await tracker.viewHomepage()
  url = 'https://shop.example/b'
  await tracker.viewHomepage({ http_user_agent: 'Own/1' })
  const events = await settled(tracker)
  const payloads = events.flatMap(({ body }) =>
    ((body.events as { payload: object }[] | undefined) ?? [{ payload: body }]).map(
      ({ payload }) => payload,
    ),
  )
  expect(payloads).toMatchObject([
    { url: 'https://shop.example/a?token=***', http_user_agent: 'Sandbox/1', did: 'visitor-1' },
    { url: 'https://shop.example/b', http_user_agent: 'Own/1', did: 'visitor-1' },
  ])
  // Nothing of it is stored.
  expect(localStorage).toHaveLength(0)
  expect(document.cookie).toBe('')
  tracker.reset()
  expect(tracker.did).toMatch(UUID)
})

test('another storage takes the place of localStorage', async () => {
  sessionStorage.clear()
  const tracker = create({ storage: sessionStorage })
  const { did } = tracker
  expect(sessionStorage.getItem('track.did')).toBe(did)
  expect(localStorage).toHaveLength(0)
})

describe('with consent', () => {
  test('nothing is stored or sent before it is given, also not a given device id', async () => {
    const tracker = create({ consent: 'required', parts: { consent }, did: 'visitor-1' })
    expect(tracker.consentState).toBeUndefined()
    await tracker.search({ search_term: 'mug' })
    expect(tracker.did).toBe('')
    expect(await settled(tracker)).toEqual([])
    expect(localStorage).toHaveLength(0)
    tracker.consent('granted')
    expect(tracker.did).toBe('visitor-1')
    expect(await settled(tracker)).toMatchObject([{ body: { did: 'visitor-1' } }])
  })
})

describe('a page with the tag of the script', () => {
  const click = () => {
    document.body.innerHTML = '<a data-track=viewProduct data-track-product-id=7>7</a>'
    document.body.querySelector('a')?.click()
  }

  test.each([
    ['the same key', (key: string) => `${BASE}/t/j/${key}`, 0],
    ['the same key, pinned', (key: string) => `${BASE}/t/j/${key}/0123abcd.js`, 0],
    ['another key', (key: string) => `${BASE}/t/j/${key}X`, 1],
    ['no tag', () => 'https://shop.example/app.js', 1],
  ])('%s: whether parts report', async (_, src, expected) => {
    const key = newKey()
    const tag = document.createElement('script')
    tag.setAttribute('src', src(key))
    // Not inserted as a script, which would be loaded.
    tag.type = 'text/plain'
    document.head.append(tag)
    const tracker = createTracker({ key, base: BASE, parts: { attributes } })
    click()
    // Trackers of earlier tests see the click too.
    const sent = async () =>
      (await settled(tracker)).filter(({ url }) => url.searchParams.get('k') === key)
    expect(await sent()).toHaveLength(expected)
    await tracker.search({ search_term: 'mug' })
    expect(await sent()).toHaveLength(expected + 1)
  })

  test('consent is asked all the same', async () => {
    const key = newKey()
    document.head.innerHTML = `<script type="text/plain" src="${BASE}/t/j/${key}"></script>`
    const tracker = createTracker({ key, base: BASE, consent: 'required', parts: { consent } })
    await tracker.search({ search_term: 'mug' })
    expect(await settled(tracker)).toEqual([])
  })
})

test('without a browser nothing is sent, and helpers resolve', async () => {
  vi.stubGlobal('self', undefined)
  vi.stubGlobal('location', undefined)
  vi.stubGlobal('navigator', undefined)
  vi.stubGlobal('document', undefined)
  const tracker = create({ parts: { attributes } })
  expect(await tracker.addToCart(line)).toEqual({ ok: false, error: 'ignored' })
  expect(await tracker.flush()).toEqual({ delivered: 0, kept: 0, dropped: 0 })
  expect(requests).toEqual([])
})
