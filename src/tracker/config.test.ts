// @vitest-environment happy-dom
import { afterEach, expect, test } from 'vitest'
import { type Config, readConfig } from './config.ts'

const served: Config = {
  key: 'DEMOSHOP',
  base: 'https://served.example',
  batch: true,
  source: 'web',
}

afterEach(() => {
  document.head.innerHTML = ''
  Reflect.deleteProperty(document, 'currentScript')
})

/** A tag that is not loaded: only its attributes matter. */
function addTag(src: string, data: { [name: string]: string } = {}, isCurrent = true) {
  const tag = document.createElement('script')
  tag.type = 'none'
  tag.setAttribute('src', src)
  Object.assign(tag.dataset, data)
  document.head.append(tag)
  if (isCurrent) setCurrent(tag)
}

const setCurrent = (value: unknown) =>
  Object.defineProperty(document, 'currentScript', { value, configurable: true })

test.each([
  ['https://gw.example/t/j/DEMOSHOP', 'https://gw.example'],
  ['https://gw.example/t/j/DEMOSHOP?v=2&next=/t/x', 'https://gw.example'],
  ['https://shop.example/proxy/track/t/j/DEMOSHOP', 'https://shop.example/proxy/track'],
  ['http://127.0.0.1:8787/t/j/DEMOSHOP#x', 'http://127.0.0.1:8787'],
  ['https://cdn.example/copied.js', 'https://served.example'],
])('the base is where the script came from: %s', (src, base) => {
  addTag(src)
  expect(readConfig(served, document)).toEqual({
    ...served,
    knownPrefix: '',
    served: served.base,
    base,
  })
})

test('an async or module script is found by its address', () => {
  setCurrent(null)
  addTag('https://other.example/t/j/OTHERKEY', { source: 'other' }, false)
  addTag('https://gw.example/t/j/DEMOSHOP?x=1', { source: 'mine' }, false)
  expect(readConfig(served, document)).toEqual({
    ...served,
    knownPrefix: '',
    served: served.base,
    base: 'https://gw.example',
    source: 'mine',
  })
})

test('without a tag the served settings are used', () => {
  setCurrent(null)
  expect(readConfig(served, document)).toEqual({ ...served, knownPrefix: '', served: served.base })
})

test.each([
  ['inlined or evaluated', null],
  ['moved to another address', 'https://cdn.example/copied.js'],
] as const)('a script that was %s does not start without an address of the gateway', (_, src) => {
  setCurrent(null)
  if (src) addTag(src)
  const { base: _base, ...withoutBase } = served
  expect(() => readConfig(withoutBase as Config, document)).toThrow()
})

test('an inline script uses the served settings and its attributes', () => {
  const tag = document.createElement('script')
  tag.type = 'none'
  tag.dataset.remoteAddr = '203.0.113.7'
  setCurrent(tag)
  expect(readConfig(served, document)).toEqual({
    ...served,
    knownPrefix: '',
    served: served.base,
    remoteAddr: '203.0.113.7',
  })
})

test('attributes override the served settings, but not the key', () => {
  addTag('https://gw.example/t/j/DEMOSHOP', {
    eventPrefix: 'eu_',
    source: 'kiosk',
    base: 'https://elsewhere.example',
    key: 'STOLEN',
    mine: 'of the shop',
  })
  expect(readConfig(served, document)).toMatchObject({
    eventPrefix: 'eu_',
    source: 'kiosk',
    base: 'https://elsewhere.example',
    key: 'DEMOSHOP',
    batch: true,
  })
})

test.each([
  ['false', false],
  ['true', 'true'],
])('a switch with the value %j', (value, expected) => {
  addTag('https://gw.example/t/j/DEMOSHOP', { batch: value, anyOk: value })
  expect(readConfig(served, document)).toMatchObject({ batch: expected, anyOk: expected })
})

test('the served settings are not changed', () => {
  const before = { ...served }
  addTag('https://gw.example/t/j/DEMOSHOP', { source: 'kiosk' })
  readConfig(served, document)
  expect(served).toEqual(before)
})

test('a tag can not change knownPrefix and events', () => {
  addTag('https://gw.example/t/j/DEMOSHOP', { eventPrefix: 'de_', knownPrefix: 'y_', events: 'x' })
  const config = readConfig({ ...served, eventPrefix: 'x_', events: { search: 'find' } }, document)
  expect(config).toMatchObject({
    eventPrefix: 'de_',
    knownPrefix: 'x_',
    events: { search: 'find' },
  })
})
