import { expect, test } from 'vitest'
import { readPublicConfig } from './publicConfig.ts'

test.each([
  [{}],
  [{ batch: false, anyOk: true, eventPrefix: 'x_', source: 'shop', remoteAddr: '203.0.113.1' }],
  [{ events: { addToCart: 'basket', sendCustom: 'own' } }],
  [{ events: { addToCart: 'add_to_cart', viewHomepage: 'view_page' } }],
  [{ events: { viewHomepage: 'home' }, pageViewEvent: 'view_homepage' }],
  [{ pageViews: 'load', pageViewEvent: 'seen', pageViewQuery: true, pageViewHash: true }],
  [{ mask: ['session'], maxAgeDays: 1, duplicateWindowMs: 0 }],
  [{ dataLayer: false, dataLayerName: 'layer', dataLayerPrefix: '' }],
  [{ ga4: true, schemaOrg: false }],
  [{ ga4: { names: { deep: ['x'] } } }],
])('a good configuration: %j', (config) => {
  expect(readPublicConfig(config)).toEqual({ ok: true, config })
})

test.each<[unknown, string]>([
  [{ gaa4: true }, 'gaa4'],
  [{ key: 'ABC123' }, 'key'],
  [{ base: 'https://t.example' }, 'base'],
  [{ restKey: 'secret' }, 'restKey'],
  [{ events: { viewCart: 'x' } }, 'events.viewCart'],
  [{ events: { addToCart: '' } }, 'events.addToCart'],
  [{ events: { addToCart: 'basket', removeFromCart: 'basket' } }, 'events.removeFromCart'],
  [{ events: { addToCart: 'search' } }, 'events.addToCart'],
  [{ events: { sendCustom: 'view_product' } }, 'events.sendCustom'],
  [{ events: { search: 'view_page' } }, 'events.search'],
  [{ events: { search: 'seen' }, pageViewEvent: 'seen' }, 'events.search'],
  [{ pageViewEvent: 'add_to_cart' }, 'pageViewEvent'],
  [{ pageViews: 'never' }, 'pageViews'],
  [{ maxAgeDays: 0 }, 'maxAgeDays'],
  [{ maxAgeDays: 1.5 }, 'maxAgeDays'],
  [{ duplicateWindowMs: 60_001 }, 'duplicateWindowMs'],
  [{ mask: 'session' }, 'mask'],
  [{ mask: [1] }, 'mask.0'],
  [{ batch: 'yes' }, 'batch'],
  [{ ga4: 1 }, 'ga4'],
  [{ ga4: null }, 'ga4'],
  [null, ''],
  ['{}', ''],
])('%j is wrong at %s', (config, path) => {
  const read = readPublicConfig(config)
  expect(read.ok).toBe(false)
  if (!read.ok) expect(read.issues.map((issue) => issue.path)).toEqual([path])
})

test('an unknown setting is named as such, with those that there are', () => {
  const read = readPublicConfig({ gaa4: true, batch: 1 })
  const message = expect.stringMatching(
    /^There is no such setting\. Known are .*schemaOrg.*Did you mean ga4\?$/,
  )
  expect(read).toMatchObject({ issues: expect.arrayContaining([{ path: 'gaa4', message }]) })
})
