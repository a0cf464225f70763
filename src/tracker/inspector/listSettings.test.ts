// @vitest-environment happy-dom

import { expect, test } from 'vitest'
import type { Served } from './describeConsent.ts'
import { listSettings } from './listSettings.ts'

test('settings of the key and of the tag are told apart', () => {
  const served: Served = { ga4: true, eventPrefix: 'de_', exclude: ['/a', '/b'], pageViews: 'off' }
  const config = {
    __proto__: null,
    key: 'K',
    batch: true,
    base: 'x',
    ...served,
    eventPrefix: 'at_',
    source: 'blog',
    pageViews: 'off',
  }
  expect(
    listSettings(
      config,
      { eventPrefix: 'at_', source: 'blog', pageViews: 'off', other: '1' },
      served,
    ),
  ).toEqual([
    { name: 'pageViews', value: 'off', from: 'tag' },
    { name: 'ga4', value: 'true', from: 'key' },
    { name: 'exclude', value: '["/a","/b"]', from: 'key' },
    { name: 'eventPrefix', value: 'at_', from: 'tag', overridden: 'de_' },
    { name: 'source', value: 'blog', from: 'tag' },
  ])
})

test('without an answer of the gateway, and with names on Object.prototype', () => {
  Object.assign(Object.prototype, { mask: 'evil' })
  try {
    expect(listSettings({ gpc: true }, {}, undefined)).toEqual([
      { name: 'gpc', value: 'true', from: 'key' },
    ])
  } finally {
    Reflect.deleteProperty(Object.prototype, 'mask')
  }
})
