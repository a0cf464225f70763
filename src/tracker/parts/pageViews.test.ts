// @vitest-environment happy-dom
import { afterEach, expect, test, vi } from 'vitest'
import type { Config } from '../config.ts'
import { createNotices } from '../notices.ts'
import type { Track } from '../track.ts'
import { pageViews } from './pageViews.ts'

const BASE = { key: 'AAAAAA', base: 'http://gateway.test' }
let views: string[] = []

/** Starts at `/a`, with the fallback that wraps history unless a Navigation API is given. */
function start(setting: Partial<Config> = {}, more: readonly Config[] = []) {
  vi.useFakeTimers()
  history.replaceState({}, '', '/a')
  // An earlier test's copy goes on listening, and counts into its own list.
  const mine: string[] = []
  views = mine
  const configs = new Map<string, Config>(
    [{ ...BASE, ...setting }, ...more].map((config) => [config.key, config]),
  )
  const track: Track = (_operation, payload, sighting) => {
    for (const config of configs.values())
      if (sighting?.only?.(config))
        mine.push(
          `${config.key} ${(payload as { event: string }).event} ${sighting.url?.replace(location.origin, '')}`,
        )
    return { ok: true, id: '' }
  }
  const countFor = pageViews(track, configs, createNotices(), new Map(), new Map())
  const count = () => countFor?.(BASE)
  count()
  return { configs, count }
}
const settled = () => vi.advanceTimersByTime(1000)
const { pushState, replaceState } = history

afterEach(() => {
  vi.useRealTimers()
  Object.assign(history, { pushState, replaceState })
  Reflect.deleteProperty(window, 'navigation')
})

const seen = () => views.map((view) => view.replace('AAAAAA view_page ', ''))

test('counts the load at once and each path once', () => {
  start()
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
  history.pushState({}, '', '/b')
  window.dispatchEvent(new Event('pagehide'))
  expect(seen()).toEqual(['/a', '/b'])
})

test.each<[Partial<Config>, string[]]>([
  [{}, ['/a']],
  [{ pageViewQuery: true }, ['/a', '/a?x=1', '/a?x=2#/r?y=1']],
  [{ pageViewQuery: false }, ['/a']],
  [{ pageViewHash: 'true' }, ['/a', '/a?x=2#/r?y=1']],
])('query and fragment count where the key says so: %j', (setting, expected) => {
  start(setting)
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
    expect(seen()).toEqual(expected)
  },
)

test('each key has its own settings and name, and one that joins counts the page it joins on', () => {
  const { configs, count } = start({ eventPrefix: 'my_' }, [
    { ...BASE, key: 'BBBBBB', pageViews: 'off' },
  ])
  const joined = { ...BASE, key: 'CCCCCC', pageViewEvent: 'seen' }
  configs.set(joined.key, joined)
  count()
  expect(views).toEqual(['AAAAAA my_view_page /a', 'CCCCCC seen /a'])
})

test('history may be wrapped before and after, and keeps its arguments, this and answer', () => {
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

test('an element with the id navigation is no Navigation API', () => {
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
