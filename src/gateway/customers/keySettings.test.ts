import { expect, test } from 'vitest'
import { checkKeySettings, checkStoredSettings } from './keySettings.ts'

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
  [{ ga4: {} }],
  [
    {
      ga4: { productId: { from: 'item_sku', pattern: '^shop-([0-9]+)$', table: { a: 1, b: '2' } } },
    },
  ],
  [{ ga4: { variationId: 'v', sku: 's', quantity: 'up', homepage: ['/', '/de'] } }],
  [{ ga4: { searchResults: true, userData: false } }],
])('valid: %j', (settings) => {
  expect(checkKeySettings(settings)).toEqual({ ok: true, settings })
  expect(checkStoredSettings(settings)).toEqual({ ok: true, settings })
})

const INVALID: readonly (readonly [settings: unknown, path: string])[] = [
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
]

test.each(INVALID)('invalid, given or stored: %j at %s', (settings, path) => {
  for (const checked of [checkKeySettings(settings), checkStoredSettings(settings)]) {
    expect(checked.ok).toBe(false)
    if (!checked.ok) expect(checked.issues.map((issue) => issue.path)).toEqual([path])
  }
})

test.each<[unknown, string, string]>([
  [{ schemaOrg: {} }, 'schemaOrg', 'Expected true or false, received object.'],
  [
    { ga4: { productID: { from: 'id' } } },
    'ga4.productID',
    'There is no such setting. Known are productId, variationId, sku, quantity, homepage, searchResults, userData. Did you mean productId?',
  ],
  [
    { ga4: { productId: { form: 'id' } } },
    'ga4.productId.form',
    'There is no such setting. Known are from, pattern, table. Did you mean from?',
  ],
  [
    { ga4: { productId: 'item_id' } },
    'ga4.productId',
    'Expected an object, received text of 7 characters',
  ],
  [
    { ga4: { productId: { pattern: '([' } } },
    'ga4.productId.pattern',
    'Expected a regular expression, received "([".',
  ],
  [
    { ga4: { productId: { table: { a: null } } } },
    'ga4.productId.table',
    'Expected an object whose values are text or numbers, received object.',
  ],
  [{ ga4: { quantity: 'down' } }, 'ga4.quantity', 'Expected up, received "down".'],
  [{ ga4: { homepage: '/' } }, 'ga4.homepage', 'Expected a list of paths, received "/".'],
  [
    { ga4: { homepage: ['/', 'https://shop.example/'] } },
    'ga4.homepage.1',
    'Expected a path that begins with /, received "https://shop.example/".',
  ],
  [{ ga4: { userData: 'yes' } }, 'ga4.userData', 'Expected true or false, received "yes".'],
])('accepted only where it is stored: %j', (settings, path, message) => {
  expect(checkKeySettings(settings)).toEqual({ ok: false, issues: [{ path, message }] })
  expect(checkStoredSettings(settings)).toEqual({ ok: true, settings })
})

test.each<[unknown, string, string]>([
  [
    { pageViews: 'lod' },
    'pageViews',
    'Expected off or load or all, received "lod". Did you mean load?',
  ],
  [{ pageViews: 1 }, 'pageViews', 'Expected off or load or all, received 1.'],
  [{ maxAgeDays: '7' }, 'maxAgeDays', 'Expected a whole number from 1 to 365, received "7".'],
  [{ events: { serach: 'x' } }, 'events.serach', 'Did you mean search?'],
  [{ gaa4: true }, 'gaa4', 'Did you mean ga4?'],
  [{ gaa4: true }, 'gaa4', 'There is no such setting. Known are pageViews, '],
])('%j: the message names the allowed values', (settings, path, message) => {
  expect(checkKeySettings(settings)).toEqual({
    ok: false,
    issues: [{ path, message: expect.stringContaining(message) }],
  })
})

test('every issue is listed', () => {
  const checked = checkKeySettings({ gaa4: true, batch: 1, ga4: { sku: '' } })
  expect(!checked.ok && checked.issues.map(({ path }) => path)).toEqual([
    'gaa4',
    'batch',
    'ga4.sku',
  ])
})
