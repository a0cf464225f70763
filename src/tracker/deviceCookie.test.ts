import { afterEach, expect, test, vi } from 'vitest'
import { createMemoryStorage } from '../test/storage.ts'
import type { Config } from './config.ts'
import { deviceCookie } from './deviceCookie.ts'
import { createDeviceId } from './deviceId.ts'
import { createStore } from './lib/storage.ts'

const UUID4 = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/
const FIRST = '11111111-2222-4333-8444-555555555555'
const SECOND = '66666666-2222-4333-8444-555555555555'
const SHARED: Partial<Config> = { cookieDomain: 'auto' }
const SERVED: Partial<Config> = { firstParty: true }
const BOTH: Partial<Config> = { ...SHARED, ...SERVED }

afterEach(() => {
  vi.unstubAllGlobals()
})

/** A cookie: its domain, `host:` in front if it is only of this host; and its value. */
type Jar = Map<string, string>

/** Public suffixes of the tests' browser. */
const SUFFIXES = ['uk', 'co.uk', 'test', 'github.io', 'io']

/** What a browser does with `document.cookie` on a host (RFC 6265, 5.3): domains, deletion, and the order of creation. */
function createDocument(jar: Jar, host: string) {
  const written: string[] = []
  return {
    written,
    get cookie() {
      return [...jar]
        .filter(([of]) => of === `host:${host}` || of === host || host.endsWith(`.${of}`))
        .map(([, text]) => text)
        .join('; ')
    },
    set cookie(text: string) {
      written.push(text)
      const [pair = '', ...attributes] = text.split(';')
      const of = attributes.find((one) => one.startsWith('domain='))?.slice('domain='.length)
      if (of && of !== host && (!host.endsWith(`.${of}`) || SUFFIXES.includes(of))) return
      const place = of && !SUFFIXES.includes(of) ? of : `host:${host}`
      if (attributes.includes('max-age=0')) jar.delete(place)
      else jar.set(place, pair)
    },
  }
}

/** A browser, with pages on several hosts. */
function createBrowser() {
  const jar: Jar = new Map()
  const storages = new Map<string, Storage>()
  const storageOf = (host: string) => {
    const storage = storages.get(host) ?? createMemoryStorage()
    storages.set(host, storage)
    return storage
  }
  return {
    jar,
    storageOf,
    open(
      host: string,
      config: Partial<Config>,
      { storage = storageOf(host), adopt = undefined as Config['adoptDid'], isOpen = true } = {},
    ) {
      const page = createDocument(jar, host)
      vi.stubGlobal('location', { hostname: host })
      vi.stubGlobal('document', page)
      const gate = { isOpen }
      const store = createStore(() => (gate.isOpen && storage) as Storage)
      const usual = [store, () => (gate.isOpen && page) as typeof page, vi.fn(fetch)] as const
      const [ids, cookies, post] = deviceCookie(config as Config, ...usual) ?? usual
      return { deviceId: createDeviceId(ids, cookies, adopt), page, gate, post, fetch: usual[2] }
    },
  }
}

const stored = (storage: Storage) => storage.getItem('track.did')
/** Whether the cookies of a jar are only these. */
const cookies = (jar: Jar) => Object.fromEntries(jar)

test('without a setting there is nothing to do', () => {
  const usual = [createStore(createMemoryStorage), () => ({ cookie: '' }), fetch] as const
  for (const config of [{}, { firstParty: false }])
    expect(deviceCookie(config as Config, ...usual)).toBeUndefined()
})

test.each([
  ['shop.test', 'host:shop.test'],
  ['www.shop.co.uk', 'shop.co.uk'],
  ['shop.co.uk', 'shop.co.uk'],
  ['a.b.shop.example', 'shop.example'],
  ['shop.github.io', 'shop.github.io'],
  ['github.io', 'host:github.io'],
  ['localhost', 'host:localhost'],
  ['127.0.0.1', 'host:127.0.0.1'],
  ['[::1]', 'host:[::1]'],
])('cookieDomain: a page on %s has a cookie of %s', (host, place) => {
  const browser = createBrowser()
  const did = browser.open(host, SHARED).deviceId.get()
  expect(did).toMatch(UUID4)
  const of = place === 'host:shop.test' ? 'shop.test' : place
  expect(cookies(browser.jar)).toEqual({ [of]: `track.did=${did}` })
  expect(stored(browser.storageOf(host))).toBe(did)
})

test('the cookie is for the whole site, for 400 days from the last page on', () => {
  const browser = createBrowser()
  for (let i = 0; i < 2; i++) {
    const { deviceId, page } = browser.open('www.shop.example', SHARED)
    const did = deviceId.get()
    expect(page.written.at(-1)).toBe(
      `track.did=${did};path=/;max-age=34560000;samesite=lax;domain=shop.example`,
    )
  }
})

test('subdomains share an id: the cookie wins over storage', () => {
  const browser = createBrowser()
  const visit = (host: string) => browser.open(host, SHARED).deviceId.get()
  browser.storageOf('checkout.shop.example').setItem('track.did', SECOND)
  const did = visit('www.shop.example')
  expect(did).not.toBe(SECOND)
  expect(visit('checkout.shop.example')).toBe(did)
  expect(stored(browser.storageOf('checkout.shop.example'))).toBe(did)
  expect(visit('www.shop.example')).toBe(did)
})

test('a known visitor keeps its id, and shares it', () => {
  const browser = createBrowser()
  browser.storageOf('www.shop.example').setItem('track.did', FIRST)
  expect(browser.open('www.shop.example', SHARED).deviceId.get()).toBe(FIRST)
  expect(browser.open('shop.example', SHARED).deviceId.get()).toBe(FIRST)
})

test('an adopted id that is no UUID is shared', () => {
  const browser = createBrowser()
  const adopt = ['old=([\\w.-]{8,64})'] as const
  browser.jar.set('shop.example', 'old=visitor-0001')
  const open = (host: string, given: Config['adoptDid']) =>
    browser.open(host, SHARED, { adopt: given }).deviceId.get()
  expect(open('www.shop.example', adopt)).toBe('visitor-0001')
  expect(cookies(browser.jar)).toEqual({ 'shop.example': 'track.did==visitor-0001' })
  expect(open('checkout.shop.example', undefined)).toBe('visitor-0001')
})

test('one of several cookies remains', () => {
  const browser = createBrowser()
  browser.jar.set('host:www.shop.example', `track.did=${FIRST}`)
  browser.jar.set('shop.example', `track.did=${SECOND}`)
  const did = browser.open('www.shop.example', SHARED).deviceId.get()
  expect([FIRST, SECOND]).toContain(did)
  expect(cookies(browser.jar)).toEqual({ 'shop.example': `track.did=${did}` })
})

test('junk in the cookie is replaced', () => {
  const browser = createBrowser()
  for (const junk of ['undefined', '', 'x']) {
    browser.jar.set('shop.example', `track.did=${junk}`)
    const did = browser.open('www.shop.example', SHARED).deviceId.get()
    expect(cookies(browser.jar)).toEqual({ 'shop.example': `track.did=${did}` })
  }
})

test('a reset counts for all subdomains, also for a page that is open', () => {
  const browser = createBrowser()
  const other = browser.open('checkout.shop.example', SHARED)
  const did = other.deviceId.get()
  const mine = browser.open('www.shop.example', SHARED)
  expect(mine.deviceId.get()).toBe(did)
  mine.deviceId.reset()
  const next = mine.deviceId.get()
  expect(next).not.toBe(did)
  expect(cookies(browser.jar)).toEqual({ 'shop.example': `track.did=${next}` })
  other.deviceId.read()
  expect(other.deviceId.get()).toBe(next)
})

test('a refusal deletes the cookie on all subdomains', () => {
  const browser = createBrowser()
  const { deviceId, gate } = browser.open('www.shop.example', SHARED)
  const did = deviceId.get()
  deviceId.reset(0)
  gate.isOpen = false
  expect(cookies(browser.jar)).toEqual({})
  expect(stored(browser.storageOf('www.shop.example'))).toBeNull()
  const next = browser.open('checkout.shop.example', SHARED).deviceId.get()
  expect(next).not.toBe(did)
})

test('before consent no cookie is read, written or deleted', async () => {
  const browser = createBrowser()
  browser.jar.set('shop.example', `track.did=${FIRST}`)
  const { deviceId, gate, page, post, fetch } = browser.open('www.shop.example', BOTH, {
    isOpen: false,
  })
  const read = vi.spyOn(page, 'cookie', 'get')
  fetch.mockImplementation(async () => new Response())
  deviceId.read()
  // As the gate does when consent comes.
  deviceId.reset(0)
  await post('https://www.shop.example/t/r?k=K', { credentials: 'omit' })
  expect(fetch).toHaveBeenLastCalledWith('https://www.shop.example/t/r?k=K', {
    credentials: 'omit',
  })
  expect(read).not.toHaveBeenCalled()
  expect(page.written).toEqual([])
  gate.isOpen = true
  expect(deviceId.get()).toBe(FIRST)
})

test('blocked cookies: the id is in storage', () => {
  const browser = createBrowser()
  const storage = createMemoryStorage()
  const { deviceId, page } = browser.open('www.shop.example', BOTH, { storage })
  vi.spyOn(page, 'cookie', 'get').mockReturnValue('')
  const did = deviceId.get()
  expect(stored(storage)).toBe(did)
  expect(deviceId.get()).toBe(did)
})

test.each([SHARED, SERVED])('blocked storage: the id is in the cookie (%j)', (config) => {
  const browser = createBrowser()
  const storage = null as never
  const did = browser.open('www.shop.example', config, { storage }).deviceId.get()
  expect([...browser.jar.values()]).toEqual([`track.did=${did}`])
  expect(browser.open('www.shop.example', config, { storage }).deviceId.get()).toBe(did)
})

test('neither cookies nor storage: one id for the life of the page', () => {
  const browser = createBrowser()
  const { deviceId, page } = browser.open('www.shop.example', BOTH, { storage: null as never })
  vi.spyOn(page, 'cookie', 'get').mockImplementation(() => {
    throw new DOMException('denied', 'SecurityError')
  })
  const did = deviceId.get()
  expect(did).toMatch(UUID4)
  expect(deviceId.get()).toBe(did)
})

test('firstParty: the cookie of the gateway brings an id back that storage has lost', () => {
  const browser = createBrowser()
  browser.jar.set('host:www.shop.example', `track.did=${FIRST}`)
  const { deviceId, page } = browser.open('www.shop.example', SERVED)
  expect(deviceId.get()).toBe(FIRST)
  expect(stored(browser.storageOf('www.shop.example'))).toBe(FIRST)
  // Safari would keep a cookie that a script has written for only 7 days.
  expect(page.written).toEqual([])
})

test('firstParty: the script writes no cookie by itself, but a reset replaces it', () => {
  const browser = createBrowser()
  const { deviceId, page } = browser.open('www.shop.example', SERVED)
  deviceId.get()
  expect(page.written).toEqual([])
  browser.jar.set('host:www.shop.example', `track.did=${deviceId.get()}`)
  deviceId.reset()
  expect(cookies(browser.jar)).toEqual({ 'host:www.shop.example': `track.did=${deviceId.get()}` })
})

const URL_OF_EVENT = 'https://www.shop.example/t/r?k=K'
const OMIT = { credentials: 'omit', method: 'POST' } as const
const ALLOW = { credentials: 'same-origin', method: 'POST' }

test('requests ask for the cookie only in first-party mode', async () => {
  for (const [config, url, init] of [
    [SHARED, URL_OF_EVENT, OMIT],
    [SERVED, URL_OF_EVENT, ALLOW],
    [BOTH, `${URL_OF_EVENT}&domain=shop.example`, ALLOW],
  ] as const) {
    const { deviceId, post, fetch } = createBrowser().open('www.shop.example', config)
    const answer = new Response()
    fetch.mockResolvedValue(answer)
    await post(URL_OF_EVENT, OMIT)
    expect(fetch).toHaveBeenLastCalledWith(URL_OF_EVENT, OMIT)
    deviceId.get()
    expect(await post(URL_OF_EVENT, OMIT)).toBe(answer)
    expect(fetch).toHaveBeenLastCalledWith(url, init)
  }
})

test('a page asks for the cookie until it has an answer, and again after a reset', async () => {
  const { deviceId, post, fetch } = createBrowser().open('www.shop.example', SERVED)
  const asks = async (answer: Response) => {
    fetch.mockResolvedValueOnce(answer)
    await post(URL_OF_EVENT, OMIT)
    return fetch.mock.lastCall?.[1]?.credentials
  }
  deviceId.get()
  expect(await asks(new Response('', { status: 503 }))).toBe('same-origin')
  expect(await asks(new Response())).toBe('same-origin')
  expect(await asks(new Response())).toBe('omit')
  deviceId.reset()
  expect(await asks(new Response())).toBe('same-origin')
})

test('firstParty: if the host has two ids, that of storage counts', () => {
  const browser = createBrowser()
  browser.jar.set('host:www.shop.example', `track.did=${SECOND}`)
  browser.storageOf('www.shop.example').setItem('track.did', FIRST)
  expect(browser.open('www.shop.example', SERVED).deviceId.get()).toBe(FIRST)
  expect(cookies(browser.jar)).toEqual({ 'host:www.shop.example': `track.did=${FIRST}` })
})

test('no domain is named where there is none', async () => {
  const { deviceId, post, fetch } = createBrowser().open('localhost', BOTH)
  fetch.mockResolvedValue(new Response())
  deviceId.get()
  await post(URL_OF_EVENT, OMIT)
  expect(fetch).toHaveBeenLastCalledWith(URL_OF_EVENT, ALLOW)
})

test('after a reset on another subdomain requests ask for no cookie', async () => {
  const browser = createBrowser()
  const { deviceId, post, fetch } = browser.open('www.shop.example', BOTH)
  fetch.mockResolvedValue(new Response())
  deviceId.get()
  browser.jar.set('shop.example', `track.did=${SECOND}`)
  await post(URL_OF_EVENT, OMIT)
  expect(fetch).toHaveBeenLastCalledWith(URL_OF_EVENT, OMIT)
  expect(cookies(browser.jar)).toEqual({ 'shop.example': `track.did=${SECOND}` })
})

test.each([
  ['a reset', 'answers', false],
  ['a reset', 'fails', false],
  ['a refusal', 'answers', true],
  ['a refusal', 'fails', true],
])(
  'after %s the cookie of a request that was open does not stay, if it %s',
  async (_, end, isRefusal) => {
    const browser = createBrowser()
    const { deviceId, post, fetch, gate } = browser.open('www.shop.example', SERVED)
    const did = deviceId.get()
    fetch.mockImplementation(async () => {
      deviceId.reset(isRefusal ? 0 : undefined)
      gate.isOpen = !isRefusal
      browser.jar.set('host:www.shop.example', `track.did=${did}`)
      if (end === 'fails') throw new TypeError('Failed to fetch')
      return new Response()
    })
    const sent = post(URL_OF_EVENT, OMIT)
    await (end === 'fails' ? expect(sent).rejects.toThrow('Failed to fetch') : sent)
    expect([...browser.jar.values()]).toEqual(isRefusal ? [] : [`track.did=${deviceId.get()}`])
    expect(deviceId.get()).not.toBe(did)
  },
)
