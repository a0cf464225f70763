import { expect, test } from 'vitest'
import type { KeySettings } from '../../contract/settings.ts'
import { findBoundIssues } from './keySettingsBounds.ts'

const of = (length: number) => 'x'.repeat(length)

test.each<KeySettings>([
  {},
  { source: of(2_048), remoteAddr: of(2_048), dataLayerPrefix: of(128) },
  { source: '😀'.repeat(2_048) },
  { eventPrefix: of(107), events: { addToCart: of(21) } },
  { events: { sendCustom: of(128) }, pageViewEvent: of(128) },
  { mask: Array(100).fill(of(100)) },
  ...[true, false, { cookie: of(128) }, { cookie: '_pk_id.1.1fff', path: of(128) }].map(
    (adoptDid) => ({ adoptDid }),
  ),
  { adoptDid: { storage: 'gerät id', path: '$visitor.a-b.0.d.e' } },
  ...['dataLayer', 'shopLayer', '$layer', '_l', 'слой', 'data_layer2', 'onLayer', 'layer'].map(
    (dataLayerName) => ({ dataLayerName }),
  ),
  ...['track', 'shoptrail', '_track'].map((global) => ({ global })),
])('within the bounds: %j', (config) => {
  expect(findBoundIssues(config)).toEqual([])
})

test.each([
  [{ source: of(2_049) }, 'source'],
  [{ remoteAddr: of(2_049) }, 'remoteAddr'],
  [{ dataLayerPrefix: of(129) }, 'dataLayerPrefix'],
  [{ events: { addToCart: of(129) } }, 'events.addToCart'],
  [{ eventPrefix: of(100), events: { addToCart: of(29) } }, 'events.addToCart'],
  [{ eventPrefix: of(120) }, 'events.viewHomepage'],
  [{ eventPrefix: of(120), pageViewEvent: of(9) }, 'pageViewEvent'],
  [{ mask: Array(101).fill('x') }, 'mask'],
  [{ mask: ['x', of(129)] }, 'mask.1'],
  [{ ga4: { homepage: [of(16_384)] } }, ''],
])('above the bounds: %j', (config, path) => {
  const issues = findBoundIssues(config)
  expect(issues.map((issue) => issue.path)).toContain(path)
  for (const { message } of issues) expect(message).toMatch(/^Expected at most \d+ /)
})

test.each([
  ...['location', 'document', 'name', 'top', 'opener', 'onload', 'onerror', 'Array', 'Object'],
  ...['constructor', '__proto__', 'toString', 'hasOwnProperty', 'undefined', 'NaN', 'Symbol'],
  ...['track', 'fetch', 'localStorage', 'history', 'class', 'this', 'window', 'self', 'status'],
  ...['a.b', 'my layer', '1st', 'a-b', '', 'x;y', 'l[0]', 'a\n', of(129)],
])('dataLayerName %j is refused', (dataLayerName) => {
  expect(findBoundIssues({ dataLayerName }).map(({ path }) => path)).toEqual(['dataLayerName'])
})

test.each(['location', 'name', 'onload', 'fetch', 'window', 'class', 'a.b', '', of(129)])(
  'global %j is refused',
  (global) => {
    expect(findBoundIssues({ global }).map(({ path }) => path)).toEqual(['global'])
  },
)

test.each<[KeySettings['adoptDid'], string[]]>([
  [{}, ['adoptDid']],
  [{ path: 'id' }, ['adoptDid']],
  [{ cookie: 'a', storage: 'b' }, ['adoptDid']],
  ...['a b', 'a=b', 'a;b', 'a,b', 'ä', of(129)].map(
    (cookie) => [{ cookie }, ['adoptDid.cookie']] as [object, string[]],
  ),
  ...['a\n', '\ud800', of(129)].map(
    (storage) => [{ storage }, ['adoptDid.storage']] as [object, string[]],
  ),
  ...['.', 'a.', '.a', 'a..b', 'a"', 'a\\', 'a\n', '\ud800', 'a.b.c.d.e.f', of(129)].map(
    (path) => [{ cookie: 'a', path }, ['adoptDid.path']] as [object, string[]],
  ),
])('the place of an id %j is refused', (adoptDid, paths) => {
  expect(findBoundIssues({ adoptDid } as KeySettings).map(({ path }) => path)).toEqual(paths)
})
