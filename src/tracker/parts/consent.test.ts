import { beforeAll, expect, test } from 'vitest'
import { DEFAULT_SET } from '../../build/partSets.mjs'
import { createMemoryStorage } from '../../test/storage.ts'
import { bundle, createBrowser } from '../../test/tab.ts'
import type { Config } from '../config.ts'
import { STUB } from '../snippet.ts'

let script: string
let withSources: string
let withGa4: string
let plain: string
beforeAll(async () => {
  plain = await bundle(DEFAULT_SET)
  script = await bundle(['consent', ...DEFAULT_SET])
  withSources = await bundle(['consent', 'consentSources', ...DEFAULT_SET])
  withGa4 = await bundle(['consent', 'pageViews', 'attributes', 'ga4', 'dataLayer'])
})

const REQUIRED = { consent: 'required' } as const
const mug = { search_term: 'mug' }
const refused = { ok: false, error: 'no_consent' }
/** Names that are stored, without those of events. */
const stored = ({ local }: ReturnType<typeof createBrowser>) => Object.keys(local).sort()

test.each([
  ['required', REQUIRED],
  ['an unknown rule', { consent: 'yes' as never }],
  ['a text with a known rule in it', { consent: 'ungranted' as never }],
  ['no text', { consent: '' as never }],
  ['false', { consent: false as never }],
])(
  '%s: before a grant nothing is stored, sent or read, except the remembered choice',
  async (_, config) => {
    const browser = createBrowser()
    const { track, sent, settle, page } = browser.open(script, config)
    expect(await track.search(mug)).toMatchObject({ ok: true })
    page.dispatchEvent(new page.Event('pagehide'))
    page.dispatchEvent(new page.Event('online'))
    expect(await track.flush()).toEqual({ delivered: 0, kept: 0, dropped: 0 })
    track.reset()
    await settle()
    expect(track.did).toBe('')
    expect(track.consentState).toBeUndefined()
    expect(sent).toEqual([])
    expect(new Set(browser.accesses)).toEqual(new Set(['local.getItem track.c']))
  },
)

test('a grant sends what was held, with its own id, moment and address, and a new device id', async () => {
  const browser = createBrowser()
  const { track, sent, settle, page, notices, payloads, states } = browser.open(script, REQUIRED)
  const first = await track.search(mug)
  page.history.replaceState({}, '', '/p/2')
  const second = await track.viewProduct({ product_id: 7 })
  const invalid = await track.search({ search_term: ' ' })
  expect(invalid).toMatchObject({ ok: false, error: { name: 'ValidationException' } })
  await settle()
  expect(notices.filter(({ kind }) => kind !== 'dropped')).toMatchObject([
    { kind: 'accepted' },
    { kind: 'held', reason: 'no_consent', id: first.ok && first.id, from: 'call' },
    { kind: 'accepted' },
    { kind: 'held', reason: 'no_consent', id: second.ok && second.id },
  ])
  track.consent('granted')
  await settle()
  const did = browser.local.getItem('track.did')
  expect(payloads()).toMatchObject([
    { ...mug, did, url: 'https://shop.example/p/1?utm_source=mail' },
    { product_id: '7', did, url: 'https://shop.example/p/2' },
  ])
  expect(sent.flatMap(({ ids }) => ids)).toEqual([first, second].map((one) => one.ok && one.id))
  expect(track.did).toBe(did)
  expect(states).toEqual(['granted'])
  expect(stored(browser)).toEqual(['track.c', 'track.did'])
  expect(notices.filter(({ kind }) => kind === 'delivered')).toHaveLength(2)
})

test('a remembered grant: the page starts as without consent', async () => {
  const browser = createBrowser()
  browser.local.setItem('track.c', 'granted')
  const { track, settle, payloads, notices } = browser.open(script, REQUIRED)
  expect(track.consentState).toBe('granted')
  await track.search(mug)
  await settle()
  expect(payloads()).toMatchObject([{ ...mug, did: browser.local.getItem('track.did') }])
  expect(notices.map(({ kind }) => kind)).toEqual(['accepted', 'delivered'])
})

test('a grant in the same task as the call', async () => {
  const browser = createBrowser()
  const { track, settle, payloads } = browser.open(script, REQUIRED)
  void track.search(mug)
  track.consent('granted')
  await settle()
  expect(payloads()).toMatchObject([{ ...mug, did: track.did }])
})

test('the first events of the page are held; what does not fit is dropped', async () => {
  const browser = createBrowser()
  const { track, settle, payloads, notices } = browser.open(script, {
    ...REQUIRED,
    consentEvents: 2,
  })
  const outcomes = await Promise.all(
    ['a', 'b', 'c'].map((search_term) => track.search({ search_term })),
  )
  expect(outcomes).toMatchObject([{ ok: true }, { ok: true }, { ok: false, error: 'outbox_full' }])
  track.consent('granted')
  await settle()
  expect(payloads()).toMatchObject([{ search_term: 'a' }, { search_term: 'b' }])
  expect(notices).toContainEqual(
    expect.objectContaining({ kind: 'dropped', reason: 'outbox_full' }),
  )
})

test('without consentReplay, what happens before the grant is dropped', async () => {
  const browser = createBrowser()
  const { track, settle, payloads } = browser.open(script, { ...REQUIRED, consentReplay: false })
  expect(await track.search(mug)).toEqual(refused)
  track.consent('granted')
  await track.search({ search_term: 'later' })
  await settle()
  expect(payloads()).toMatchObject([{ search_term: 'later' }])
})

test('a denial drops what is held, and remembers only the choice', async () => {
  const browser = createBrowser()
  const { track, settle, sent, notices, states } = browser.open(script, REQUIRED)
  const held = await track.search(mug)
  track.consent('denied')
  expect(await track.search(mug)).toEqual(refused)
  await settle()
  expect(sent).toEqual([])
  expect(stored(browser)).toEqual(['track.c'])
  expect(states).toEqual(['denied'])
  expect(notices.filter(({ kind }) => kind === 'dropped')).toMatchObject([
    { id: held.ok && held.id, reason: 'no_consent' },
    { reason: 'no_consent' },
  ])
  browser.accesses.length = 0
  const next = browser.open(script, REQUIRED)
  expect(await next.track.search(mug)).toEqual(refused)
  expect(next.track.consentState).toBe('denied')
  await next.settle()
  expect(stored(browser)).toEqual(['track.c'])
  expect(browser.accesses.filter((access) => /setItem|max-age=[^0]/.test(access))).toEqual([])
})

test('a denial deletes the events of all pages and keys, the device id and its cookie, and all else', async () => {
  const browser = createBrowser()
  const other = { ...REQUIRED, key: 'OTHERKEY' } as const
  browser.local.setItem('track.c', 'granted')
  const first = browser.open(script, REQUIRED, { status: 0 })
  first.run(script, other)
  await first.track.search(mug)
  await first.settle()
  first.close()
  expect(stored(browser).filter((name) => name.startsWith('track.e.'))).toHaveLength(2)
  for (const name of ['track.turn', 'track.ignore']) browser.local.setItem(name, '0')
  browser.local.setItem('track.mine', 'of the shop')
  browser.cookies.set('track.did', '11111111-2222-4333-8444-555555555555')

  const { track, settle, sent, notices, page } = browser.open(script, REQUIRED, { status: 0 })
  for (const name of ['track.ga4', 'track.debug', 'track.panel'])
    page.sessionStorage.setItem(name, '[]')
  await track.search(mug)
  await settle()
  const before = sent.length
  track.consent('denied')
  page.dispatchEvent(new page.Event('online'))
  page.dispatchEvent(new page.Event('pagehide'))
  await settle()
  expect(sent).toHaveLength(before)
  expect(stored(browser)).toEqual(['track.c', 'track.mine'])
  expect(page.sessionStorage).toHaveLength(0)
  expect([...browser.cookies]).toEqual([])
  expect(notices.filter(({ reason }) => reason === 'no_consent')).toHaveLength(3)
})

test('a grant after a denial starts anew, with a new device id', async () => {
  const browser = createBrowser()
  browser.local.setItem('track.c', 'granted')
  const { track, settle, payloads } = browser.open(script, REQUIRED)
  await track.search(mug)
  await settle()
  const { did } = track
  track.consent('denied')
  expect(track.did).toBe('')
  track.consent('granted')
  await track.search({ search_term: 'new' })
  await settle()
  expect(track.did).not.toBe(did)
  expect(payloads()).toMatchObject([
    { ...mug, did },
    { search_term: 'new', did: browser.local.getItem('track.did') },
  ])
})

test('a choice in one tab counts in the others', async () => {
  const browser = createBrowser()
  const a = browser.open(script, REQUIRED)
  const b = browser.open(script, REQUIRED)
  await b.track.search(mug)
  a.track.consent('granted')
  await b.settle()
  expect(b.payloads()).toMatchObject([{ ...mug, did: a.track.did }])
  b.network.status = 0
  await b.track.search(mug)
  a.track.consent('denied')
  await b.settle()
  expect(b.track.consentState).toBe('denied')
  expect(await b.track.search(mug)).toEqual(refused)
  expect(stored(browser)).toEqual(['track.c'])
})

test('what a tool reports later is passed to the other tabs, and is not remembered', async () => {
  const browser = createBrowser()
  const config = { consentSources: ['consentMode'], consentTypes: ['analytics_storage'] }
  const [a, b] = [browser.open(withSources, config), browser.open(withSources, config)]
  for (const { track } of [a, b]) await track.search(mug)
  const layer = a.page.dataLayer as { push(command: unknown): void }
  layer.push(['consent', 'update', { analytics_storage: 'denied' }])
  await a.settle()
  expect([a, b].map(({ track }) => track.consentState)).toEqual(['denied', 'denied'])
  expect(stored(browser)).toEqual([])
})

test('what was pushed before the script decides before anything is read', async () => {
  const browser = createBrowser()
  const config = { consentSources: ['consentMode'], consentTypes: ['analytics_storage'] }
  const { track, sent } = browser.open(withSources, config, {
    before: (page) => {
      page.dataLayer = [['consent', 'update', { analytics_storage: 'denied' }]]
    },
  })
  expect(await track.search(mug)).toEqual(refused)
  expect(sent).toEqual([])
  expect(browser.accesses.filter((access) => /setItem|cookie track/.test(access))).toEqual([
    expect.stringContaining('max-age=0'),
  ])
})

test('a page that returns from the back/forward cache reads the choice again', async () => {
  const browser = createBrowser()
  browser.local.setItem('track.c', 'granted')
  const { track, page, settle } = browser.open(script, REQUIRED)
  browser.local.setItem('track.c', 'denied')
  page.dispatchEvent(Object.assign(new page.Event('pageshow'), { persisted: true }))
  expect(track.consentState).toBe('denied')
  expect(await track.search(mug)).toEqual(refused)
  await settle()
  expect(stored(browser)).toEqual(['track.c'])
})

test('a prerendered page reads nothing until it is shown; a choice made meanwhile counts then', async () => {
  const browser = createBrowser()
  let prerendering = true
  const { track, page, settle, payloads } = browser.open(script, REQUIRED, {
    before: ({ document }) =>
      Object.defineProperty(document, 'prerendering', { get: () => prerendering }),
  })
  void track.search(mug)
  track.consent('granted')
  await settle()
  expect(browser.accesses).toEqual([])
  prerendering = false
  page.document.dispatchEvent(new page.Event('prerenderingchange'))
  await settle()
  expect(payloads()).toMatchObject([{ ...mug, did: track.did }])
  expect(track.consentState).toBe('granted')
})

test('early calls of the stub are held, and its consent counts', async () => {
  const browser = createBrowser()
  const { track, settle, payloads } = browser.open(script, REQUIRED, {
    before: (page) => {
      new Function('window', 'location', STUB)(page, page.location)
      const early = page.track as unknown as Window['track']
      void early.search(mug)
      early.consent('granted')
    },
  })
  await settle()
  expect(payloads()).toMatchObject([{ ...mug, did: track.did }])
})

test('calls that the stub of an earlier page has stored are delivered after the grant', async () => {
  const browser = createBrowser()
  const id = '01890000-0000-7000-8000-000000000001'
  const call = ['search', [{ search_term: 'before' }], 'https://shop.example/a', Date.now(), id]
  browser.local.setItem(`track.e.${id}`, JSON.stringify(call))
  const { track, settle, payloads, sent } = browser.open(script, REQUIRED)
  await track.search(mug)
  await settle()
  expect(sent).toEqual([])
  track.consent('granted')
  await settle()
  expect(
    payloads()
      .map(({ search_term }) => search_term)
      .sort(),
  ).toEqual(['before', 'mug'])
})

test('a browser that is ignored sends nothing after the grant either', async () => {
  const browser = createBrowser()
  browser.local.setItem('track.ignore', '1')
  const { track, settle, sent, notices } = browser.open(script, REQUIRED)
  expect(await track.search(mug)).toMatchObject({ ok: true })
  track.consent('granted')
  expect(await track.search(mug)).toEqual({ ok: false, error: 'ignored' })
  await settle()
  expect(sent).toEqual([])
  expect(notices.map(({ kind, reason }) => reason ?? kind)).toEqual([
    'accepted',
    'no_consent',
    'ignored',
    'ignored',
  ])
})

test('GA4: sessionStorage is not used before the grant; then what the last page has reported counts', async () => {
  const browser = createBrowser()
  const session = createMemoryStorage()
  browser.local.setItem('track.c', 'granted')
  const config = { ...REQUIRED, ga4: true }
  const first = browser.open(withGa4, config, { session })
  const layer = first.page.dataLayer as { push(pushed: object): void }
  layer.push({ event: 'view_item', ecommerce: { items: [{ item_id: '7' }] } })
  await first.settle()
  first.page.dispatchEvent(new first.page.Event('pagehide'))
  first.close()
  expect(Object.keys(session)).toEqual(['track.ga4'])

  browser.local.removeItem('track.c')
  browser.accesses.length = 0
  const { page, track, settle } = browser.open(withGa4, config, { session })
  page.dispatchEvent(new page.Event('pagehide'))
  await settle()
  expect(browser.accesses.filter((access) => access.startsWith('session'))).toEqual([])
  track.consent('granted')
  await settle()
  expect(Object.keys(session)).toEqual([])
  expect(await track.viewProduct({ product_id: '7' })).toEqual({ ok: false, error: 'duplicate' })
})

test('cookieless: events leave without a device id, nothing is stored, and a retry is from memory', async () => {
  const browser = createBrowser()
  const { track, settle, payloads, sent, network, page } = browser.open(
    script,
    { consent: 'cookieless' },
    { status: 503 },
  )
  await track.search({ ...mug, did: 'of-the-caller' })
  await settle()
  network.status = 200
  page.dispatchEvent(new page.Event('online'))
  await settle()
  expect(sent).toHaveLength(2)
  for (const payload of payloads()) expect(payload).not.toHaveProperty('did')
  expect(track.did).toBe('')
  expect(new Set(browser.accesses)).toEqual(new Set(['local.getItem track.c']))
  track.consent('granted')
  await track.search({ search_term: 'later' })
  await settle()
  expect(payloads().at(-1)).toMatchObject({ search_term: 'later', did: track.did })
})

test('cookieless: a denial ends it', async () => {
  const browser = createBrowser()
  const { track, settle, sent } = browser.open(script, { consent: 'cookieless' })
  track.consent('denied')
  expect(await track.search(mug)).toEqual(refused)
  await settle()
  expect(sent).toEqual([])
})

test('cookieless, without consentReplay: events are sent, as none of them waits', async () => {
  const cookieless = { consent: 'cookieless', consentReplay: false } as const
  const { track, settle, payloads } = createBrowser().open(script, cookieless)
  expect(await track.search(mug)).toMatchObject({ ok: true })
  await settle()
  expect(payloads()).toMatchObject([mug])
})

test('two keys, one of them cookieless: the events of the other wait, since its gateway wants a device id', async () => {
  const { track, settle, sent, run, page } = createBrowser().open(script, {
    key: 'COOKIELS',
    consent: 'cookieless',
  })
  const other = page.document.createElement('script')
  other.setAttribute('src', 'https://gw.example/t/j/GRANTEDD')
  run(plain, { key: 'GRANTEDD' }, other)
  const keys = () => sent.map(({ url }) => new URL(url).searchParams.get('k'))
  await track.search(mug)
  await settle()
  expect(keys()).toEqual(['COOKIELS'])
  track.consent('granted')
  await settle()
  expect(keys()).toEqual(['COOKIELS', 'GRANTEDD'])
  expect(sent[1]?.payloads).toMatchObject([{ ...mug, did: track.did }])
})

test('two keys: the strictest rule counts for both', async () => {
  const browser = createBrowser()
  const { track, settle, sent, run, payloads } = browser.open(script, { consent: 'cookieless' })
  run(script, { ...REQUIRED, key: 'OTHERKEY' })
  await track.search(mug)
  await settle()
  expect(sent).toEqual([])
  track.consent('granted')
  await settle()
  expect(payloads()).toHaveLength(2)
})

test('a key that asks for consent joins a page whose script has no part for it', async () => {
  const browser = createBrowser()
  const { track, settle, sent, run } = browser.open(plain)
  run(script, { ...REQUIRED, key: 'OTHERKEY' })
  await track.search(mug)
  await settle()
  expect(sent).toEqual([])
  track.consent('granted')
  await settle()
  expect(sent).toHaveLength(2)
})

test.each<[Partial<Config>, string | undefined]>([
  [REQUIRED, 'denied'],
  [{ ...REQUIRED, gpc: false }, undefined],
  [{ gpc: true }, 'denied'],
  [{ exclude: ['/x'] }, 'granted'],
])('Global Privacy Control with %j: %s; a choice on the shop overrules it', (config, state) => {
  const browser = createBrowser()
  const { track } = browser.open(script, config, {
    before: ({ navigator }) =>
      Object.defineProperty(navigator, 'globalPrivacyControl', { value: true }),
  })
  expect(track.consentState).toBe(state)
  track.consent('granted')
  expect(track.consentState).toBe('granted')
})

test('buttons of the shop', () => {
  const browser = createBrowser()
  const { track, page } = browser.open(script, REQUIRED)
  page.document.body.innerHTML =
    '<button data-track-consent="granted"><b>Yes</b></button><i data-track-consent="maybe">?</i><a data-track-consent="denied">No</a>'
  const click = (selector: string) => {
    page.document
      .querySelector(selector)
      ?.dispatchEvent(new page.MouseEvent('click', { bubbles: true, composed: true }))
    return track.consentState
  }
  expect(click('i')).toBeUndefined()
  expect(click('b')).toBe('granted')
  expect(click('a')).toBe('denied')
})

test.each([undefined, null, 'yes', true, {}, Symbol('x'), 'GRANTED'])(
  'a choice that is none is ignored: %s',
  async (choice) => {
    const browser = createBrowser()
    const { track, settle } = browser.open(script, REQUIRED)
    track.consent(choice as never)
    await settle()
    expect(track.consentState).toBeUndefined()
    expect(stored(browser)).toEqual([])
  },
)

test('the nearest of nested buttons counts', async () => {
  const { track, page, states, settle } = createBrowser().open(script, REQUIRED)
  page.document.body.innerHTML =
    '<p data-track-consent="denied"><button data-track-consent="granted"></button></p>'
  page.document.querySelector('button')?.click()
  await settle()
  expect([...states, track.consentState]).toEqual(['granted', 'granted'])
})

test('a choice that can not be stored holds as long as the page: in the back/forward cache, for a further key', async () => {
  const { track, page, states, settle, run } = createBrowser().open(
    script,
    { gpc: true } as const,
    {
      before: (page) => void Object.defineProperty(page, 'localStorage', { value: null }),
    },
  )
  track.consent('denied')
  const back = new page.Event('pageshow')
  page.dispatchEvent(Object.assign(back, { persisted: true }))
  run(script, { key: 'SECONDKY', gpc: true })
  await settle()
  expect([...states, track.consentState]).toEqual(['granted', 'denied', 'denied'])
})

test.each(['x', '-1', '0'])('data-consent-events="%s" holds nothing', async (consentEvents) => {
  const { track } = createBrowser().open(script, REQUIRED, { tag: { consentEvents } })
  expect(await track.search(mug)).toEqual({ ok: false, error: 'outbox_full' })
})

test('a page whose storage is blocked', async () => {
  const browser = createBrowser()
  const { track, settle, payloads } = browser.open(script, REQUIRED, {
    before: (page) => {
      const blocked = () => {
        throw new Error('blocked')
      }
      for (const name of ['localStorage', 'sessionStorage'])
        Object.defineProperty(page, name, { get: blocked })
      Object.defineProperty(page.document, 'cookie', { get: blocked, set: blocked })
    },
  })
  await track.search(mug)
  track.consent('granted')
  await settle()
  expect(payloads()).toMatchObject([{ ...mug, did: track.did }])
  track.consent('denied')
  expect(await track.search(mug)).toEqual(refused)
})

test('excluded pages report nothing and store no device id', async () => {
  const browser = createBrowser()
  const url = 'https://shop.example/account/orders'
  const { track, settle, sent, page, payloads } = browser.open(
    withSources,
    { exclude: ['/account/*'] },
    { url },
  )
  expect(await track.search(mug)).toEqual({ ok: false, error: 'ignored' })
  await settle()
  expect(track.did).toBe('')
  expect(sent).toEqual([])
  expect(stored(browser)).toEqual([])
  page.history.pushState({}, '', '/shop')
  await track.search(mug)
  await settle()
  expect(payloads()).toMatchObject([{ ...mug, did: browser.local.getItem('track.did') }])
})

test('a script without the part, on a page without consent, is open', async () => {
  const browser = createBrowser()
  const { track, payloads, settle } = browser.open(plain)
  await track.search(mug)
  await settle()
  expect(payloads()).toMatchObject([{ ...mug, did: track.did }])
  expect(track.consentState).toBe('granted')
  track.consent('denied')
  expect(await track.search(mug)).toMatchObject({ ok: true })
})

test.each(['required', 'false'])(
  'a tag that asks for consent (%s) of a script without the part is closed for good',
  async (consent) => {
    const browser = createBrowser()
    const { track, sent, settle, notices } = browser.open(plain, {}, { tag: { consent } })
    expect(await track.search(mug)).toEqual(refused)
    track.consent('granted')
    expect(await track.search(mug)).toEqual(refused)
    await settle()
    expect(sent).toEqual([])
    expect(browser.accesses).toEqual([])
    expect(notices).toMatchObject([{ reason: 'no_consent' }, { reason: 'no_consent' }])
  },
)
