// @vitest-environment happy-dom
import { afterEach, expect, test, vi } from 'vitest'
import { watchTrack } from '../../test/watchTrack.ts'
import type { Config } from '../config.ts'
import { uuid7 } from '../lib/uuid.ts'
import type { Track, TrackOptions } from '../track.ts'
import { pageViews } from './pageViews.ts'

const BASE = { key: 'AAAAAA', base: 'http://gateway.test' }
let views: string[] = []
let allOptions: TrackOptions[] = []

/**
 * Starts at `/a`, with the fallback that wraps history unless a Navigation API is given.
 *
 * @param landing The address that the browser loaded.
 */
function start(setting: Partial<Config> = {}, more: readonly Config[] = [], landing = '/a') {
  vi.useFakeTimers()
  history.replaceState({}, '', '/a')
  const entry = { name: location.origin + landing } as PerformanceEntry
  vi.spyOn(performance, 'getEntriesByType').mockImplementation((type) =>
    type === 'navigation' ? [entry] : [],
  )
  // The listeners of earlier tests still run. They write into their own lists.
  allOptions = []
  const mine: string[] = []
  views = mine
  const configs = new Map<string, Config>(
    [{ ...BASE, ...setting }, ...more].map((config) => [config.key, config]),
  )
  const track: Track = (_operation, payload, options) => {
    allOptions.push(options ?? {})
    for (const config of configs.values())
      if (options?.only?.(config))
        mine.push(
          `${config.key} ${(payload as { event: string }).event} ${options.url?.replace(location.origin, '')}`,
        )
    return { ok: true, id: '' }
  }
  const [, , ...rest] = watchTrack().state
  const countFor = pageViews(track, configs, ...rest)
  const count = () => countFor?.(BASE)
  count()
  return { configs, count }
}
const settled = () => vi.advanceTimersByTime(1000)
const { pushState, replaceState } = history

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
  Object.assign(history, { pushState, replaceState })
  Reflect.deleteProperty(window, 'navigation')
})

const seen = () => views.map((view) => view.replace('AAAAAA view_page ', ''))

test('counts the load and each path once', () => {
  start()
  settled()
  expect(seen()).toEqual(['/a'])
  history.pushState({}, '', '/b')
  settled()
  history.pushState({}, '', '/b')
  settled()
  history.replaceState({}, '', '/c')
  settled()
  expect(seen()).toEqual(['/a', '/b', '/c'])
})

test('a redirect counts once, with its last address; two pushes are two pages', () => {
  start()
  history.pushState({}, '', '/b')
  history.replaceState({}, '', '/c')
  vi.advanceTimersByTime(50)
  history.replaceState({}, '', '/d')
  settled()
  expect(seen()).toEqual(['/a', '/d'])
  history.pushState({}, '', '/e')
  history.pushState({}, '', '/f')
  settled()
  expect(seen()).toEqual(['/a', '/d', '/e', '/f'])
})

test('a page that is left before its address has settled counts', () => {
  start()
  window.dispatchEvent(new Event('pagehide'))
  expect(seen()).toEqual(['/a'])
  history.pushState({}, '', '/b')
  window.dispatchEvent(new Event('pagehide'))
  settled()
  expect(seen()).toEqual(['/a', '/b'])
})

test('if the loaded page replaces its own address, one view with the last one is reported', () => {
  start()
  history.replaceState({}, '', '/en')
  vi.advanceTimersByTime(50)
  history.replaceState({}, '', '/en/')
  settled()
  history.replaceState({ n: 1 }, '')
  settled()
  expect(seen()).toEqual(['/en/'])
})

test('time and id are those of when the page was shown', () => {
  start()
  const at = Date.now()
  vi.advanceTimersByTime(50)
  const later = uuid7(Date.now())
  history.replaceState({}, '', '/en')
  settled()
  expect(allOptions).toEqual([expect.objectContaining({ at })])
  expect(`${allOptions[0]?.id}` < later).toBe(true)
})

const CAMPAIGN = 'utm_source=mail&utm_campaign=may'

test.each([
  ['the query', `/a?${CAMPAIGN}`, '/a', `/a?${CAMPAIGN}`],
  ['a part of the query', `/a?x=1&${CAMPAIGN}`, '/a?x=1', `/a?x=1&${CAMPAIGN}`],
  ['the fragment', `/a#${CAMPAIGN}`, '/a', `/a#${CAMPAIGN}`],
  ['a slash at the end', `/a/?${CAMPAIGN}`, '/a', `/a/?${CAMPAIGN}`],
  ['case', `/A/B?${CAMPAIGN}`, '/a/b', `/A/B?${CAMPAIGN}`],
  ['encoding', `/%61/%c3%a9?${CAMPAIGN}`, '/a/%C3%A9', `/%61/%c3%a9?${CAMPAIGN}`],
  ['a router writes its home', `/a?${CAMPAIGN}`, '/a#/', `/a?${CAMPAIGN}`],
  ['the query before a router’s fragment', `/a?${CAMPAIGN}#/p/1`, '/a#/p/1', `/a?${CAMPAIGN}#/p/1`],
  ['a router’s fragment', `/a?${CAMPAIGN}#/p/1`, '/a#/p/2', '/a#/p/2'],
  ['the path', `/?${CAMPAIGN}`, '/en', '/en'],
  ['an address of another page', `/?${CAMPAIGN}`, '/', `/?${CAMPAIGN}`],
])(
  'the page changed its address before the script has loaded: %s',
  (_, landing, address, expected) => {
    start({}, [], landing)
    history.replaceState({}, '', address)
    settled()
    // The same page, whatever the router writes later.
    history.replaceState({ n: 1 }, '')
    settled()
    expect(seen()).toEqual([expected])
  },
)

test('with pageViewQuery, a removed query makes no second page', () => {
  start({ pageViewQuery: true }, [], `/a?p=1&${CAMPAIGN}`)
  history.replaceState({}, '', '/a?p=1')
  settled()
  history.replaceState({ n: 1 }, '')
  settled()
  expect(seen()).toEqual([`/a?p=1&${CAMPAIGN}`])
})

test('only the first view has the landing URL, not later ones, and not after the back/forward cache', () => {
  const { configs, count } = start({}, [], `/a?${CAMPAIGN}`)
  history.pushState({}, '', '/b')
  settled()
  history.pushState({}, '', '/a')
  settled()
  const joined = { ...BASE, key: 'CCCCCC' }
  configs.set(joined.key, joined)
  count()
  settled()
  window.dispatchEvent(Object.assign(new Event('pageshow'), { persisted: true }))
  settled()
  expect(views.filter((view) => view.startsWith('AAAAAA'))).toHaveLength(4)
  expect(seen()).toEqual([
    `/a?${CAMPAIGN}`,
    '/b',
    '/a',
    `CCCCCC view_page /a?${CAMPAIGN}`,
    '/a',
    'CCCCCC view_page /a',
  ])
})

test('a return from the back/forward cache is a view, however soon it is', () => {
  start()
  window.dispatchEvent(Object.assign(new Event('pageshow'), { persisted: true }))
  settled()
  expect(seen()).toEqual(['/a', '/a'])
})

test('without a navigation entry the URL is the page’s', () => {
  start()
  vi.mocked(performance.getEntriesByType).mockReturnValue([])
  settled()
  expect(seen()).toEqual(['/a'])
})

test.each<[Partial<Config>, string[]]>([
  [{}, ['/a']],
  [{ pageViewQuery: true }, ['/a', '/a?x=1', '/a?x=2#/r?y=1']],
  [{ pageViewQuery: false }, ['/a']],
  [{ pageViewHash: 'true' }, ['/a', '/a?x=2#/r?y=1']],
])('query and fragment count with their settings: %j', (setting, expected) => {
  start(setting)
  settled()
  for (const address of ['?x=1', '?x=2#/r?y=1']) {
    history.pushState({}, '', address)
    settled()
  }
  expect(seen()).toEqual(expected)
})

test.each<[Config['pageViews'], string[]]>([
  ['off', []],
  ['load', ['/a', '/b']],
  ['all', ['/a', '/b', '/b']],
])(
  'pageViews %s: loads, routes, and a return from the back/forward cache',
  (pageViews, expected) => {
    start(pageViews && { pageViews })
    history.pushState({}, '', '/b')
    settled()
    window.dispatchEvent(Object.assign(new Event('pageshow'), { persisted: false }))
    window.dispatchEvent(Object.assign(new Event('pageshow'), { persisted: true }))
    settled()
    expect(seen()).toEqual(expected)
  },
)

test('each key has its own settings and event name, and one that joins reports the current page', () => {
  const { configs, count } = start({ eventPrefix: 'my_' }, [
    { ...BASE, key: 'BBBBBB', pageViews: 'off' },
  ])
  const joined = { ...BASE, key: 'CCCCCC', pageViewEvent: 'seen' }
  configs.set(joined.key, joined)
  count()
  settled()
  expect(views).toEqual(['AAAAAA my_view_page /a', 'CCCCCC seen /a'])
})

test('history may be wrapped before and after, and keeps its arguments, `this` and result', () => {
  const calls: unknown[] = []
  history.pushState = function (...all) {
    calls.push(this, all)
    pushState.apply(this, all)
    return 'before' as unknown as undefined
  }
  start()
  const ours = history.pushState
  history.pushState = function (...all) {
    return ours.apply(this, all)
  }
  expect(history.pushState({ x: 1 }, '', '/b')).toBe('before')
  expect(calls).toEqual([history, [{ x: 1 }, '', '/b']])
  settled()
  expect(seen()).toEqual(['/a', '/b'])
})

test('with a Navigation API nothing is wrapped', () => {
  const navigation = Object.assign(new EventTarget(), { currentEntry: {} })
  Object.assign(window, { navigation })
  start()
  expect([history.pushState, history.replaceState]).toEqual([pushState, replaceState])
  for (const [address, navigationType] of [
    ['/b', 'push'],
    ['/c', 'replace'],
  ] as const) {
    pushState.call(history, {}, '', address)
    navigation.dispatchEvent(Object.assign(new Event('currententrychange'), { navigationType }))
  }
  settled()
  expect(seen()).toEqual(['/a', '/c'])
})

test('an element with the id navigation is not the Navigation API', () => {
  Object.assign(window, { navigation: document.createElement('nav') })
  start()
  history.pushState({}, '', '/b')
  settled()
  expect(seen()).toEqual(['/a', '/b'])
})

test.each(['#', '#/', '#!/'])(
  'a fragment router that writes its home %j makes no second page',
  (home) => {
    start({ pageViewHash: true })
    history.replaceState({}, '', `/a${home}`)
    settled()
    history.pushState({}, '', '/a#/p/1')
    settled()
    history.pushState({}, '', `/a${home}`)
    settled()
    expect(seen()).toEqual(['/a', '/a#/p/1', `/a${home}`])
  },
)
