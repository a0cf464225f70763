import { afterEach, expect, test } from 'vitest'
import { completePayloads, operations } from '../test/payloads.ts'
import { findOperation, validate } from './index.ts'

const prototype = Object.prototype as { [key: string]: unknown }
const before = Object.keys(Object.getOwnPropertyDescriptors(prototype))

afterEach(() => {
  for (const key of Object.getOwnPropertyNames(prototype))
    if (!before.includes(key)) delete prototype[key]
})

const pollute = (fields: object) => Object.assign(prototype, fields)

const { source: _, ...page } = completePayloads.viewHomepage
const line = completePayloads.addToCart

/** The paths of the issues, or null if the payload is valid. */
function pathsOf(checked: ReturnType<typeof validate>): readonly string[] | null {
  return checked.ok ? null : checked.error.issues.map(({ path }) => path)
}

test.each(operations)('%s: a page that extends Object.prototype changes nothing', (operation) => {
  const payload = completePayloads[operation]
  pollute({ extend: () => {}, each: null, did: '', id: 7, 0: 'x' })
  expect(validate(operation, payload)).toEqual({ ok: true, payload })
})

test('an extended prototype adds no optional field', () => {
  pollute({ source: 'POLLUTED', limit: 9, search: 'POLLUTED' })
  for (const checked of [
    validate('viewHomepage', { ...page }),
    validate('getLatestCampaign', {}),
    validate('list', { page: '1' }),
  ]) {
    expect(checked.ok).toBe(true)
    expect(JSON.stringify(checked)).not.toContain('POLLUTED')
    if (checked.ok) expect(Object.keys(checked.payload)).not.toContain('source')
    if (checked.ok) expect(Object.keys(checked.payload)).not.toContain('limit')
  }
})

test.each(operations)('%s: an extended prototype completes no payload', (operation) => {
  const complete = completePayloads[operation]
  const missing = pathsOf(validate(operation, {}))
  pollute(complete)
  expect(pathsOf(validate(operation, {}))).toEqual(missing)
})

test('an extended prototype completes no nested object', () => {
  pollute({ id: 'POLLUTED', sku: 'POLLUTED', html: 'POLLUTED', 0: 'POLLUTED' })
  const whole = ['variation.id', 'variation.sku']
  expect(pathsOf(validate('addToCart', { ...line, variation: {} }))).toEqual(whole)
  expect(pathsOf(validate('addToCart', { ...line, variation: [] }))).toEqual(['variation'])
  const campaign = { ...completePayloads.create, content: {} }
  expect(pathsOf(validate('create', campaign))).toEqual(['content.html'])
})

test('an extended prototype does not change the operation', () => {
  pollute({ event: 'search', variation: {}, email: 'a@b.example' })
  expect(findOperation({})).toBe('viewHomepage')
  expect(findOperation({ product_id: '1' })).toBe('viewProduct')
})

test('a read-only field of the prototype does not matter', () => {
  Object.defineProperty(prototype, 'source', { get: () => 'POLLUTED', configurable: true })
  expect(pathsOf(validate('viewHomepage', { ...page, source: 'blog' }))).toBeNull()
})

test('only own, enumerable fields count', () => {
  expect(pathsOf(validate('viewHomepage', Object.create(page)))).toHaveLength(5)
  const hidden = Object.defineProperty({ ...page }, 'did', { enumerable: false })
  expect(pathsOf(validate('viewHomepage', hidden))).toEqual(['did'])
  const nested = { ...line, variation: Object.create(line.variation) }
  expect(pathsOf(validate('addToCart', nested))).toEqual(['variation.id', 'variation.sku'])
})

const throwing = (field: string) => ({
  get [field](): unknown {
    throw new Error('S3CRET')
  },
})

test.each<[path: string, payload: object]>([
  ['did', Object.defineProperties({ ...line }, descriptorsOf(throwing('did')))],
  ['source', Object.defineProperties({ ...line }, descriptorsOf(throwing('source')))],
  ['variation', Object.defineProperties({ ...line }, descriptorsOf(throwing('variation')))],
  [
    'variation.sku',
    {
      ...line,
      variation: Object.defineProperties({ id: '42-1' }, descriptorsOf(throwing('sku'))),
    },
  ],
])('a getter that throws (%s) is an issue, not an exception', (_, payload) => {
  expect(validate('addToCart', payload)).toMatchObject({
    ok: false,
    error: {
      issues: [{ path: '', message: 'Expected a payload that can be read, received an error' }],
    },
  })
})

test('an unknown key is not read', () => {
  const payload = Object.defineProperties({ ...line }, descriptorsOf(throwing('price')))
  expect(validate('addToCart', payload)).toEqual({ ok: true, payload: line })
})

test('a getter is read once', () => {
  let reads = 0
  const payload = {
    ...page,
    get did() {
      reads += 1
      return reads === 1 ? 'd-1' : ''
    },
  }
  expect(validate('viewHomepage', payload)).toMatchObject({ ok: true, payload: { did: 'd-1' } })
  expect(reads).toBe(1)
})

const fail = (): never => {
  throw new Error('S3CRET')
}

test.each<[name: string, payload: unknown]>([
  ['refuses its descriptors', new Proxy({}, { getOwnPropertyDescriptor: fail })],
  ['refuses all', new Proxy({}, { get: fail, has: fail, ownKeys: fail, getPrototypeOf: fail })],
  ['is revoked', revoked()],
])('a proxy that %s causes issues, not an exception', (_name, payload) => {
  for (const operation of ['addToCart', 'create', 'getEmailReport'] as const) {
    const checked = validate(operation, payload)
    expect(checked.ok).toBe(false)
    expect(JSON.stringify(checked)).not.toContain('S3CRET')
  }
  const checked = validate('addToCart', { ...line, did: payload, variation: payload })
  expect(checked.ok).toBe(false)
})

test('an object with an odd constructor causes an issue, not an exception', () => {
  for (const name of [5, Symbol('s'), { toString: null }]) {
    const did = Object.create({ constructor: { name } })
    expect(validate('viewHomepage', { ...page, did }).ok).toBe(false)
  }
})

test('a payload that contains itself is read only as deep as the schema', () => {
  const variation: { [field: string]: unknown } = {}
  variation.id = variation.sku = variation
  const payload = { ...line, variation }
  expect(pathsOf(validate('addToCart', payload))).toEqual(['variation.id', 'variation.sku'])
})

test('the clean payload shares no object with the original', () => {
  const checked = validate('addToCart', line)
  expect(checked.ok && checked.payload.variation).not.toBe(line.variation)
})

function descriptorsOf(value: object): PropertyDescriptorMap {
  return Object.getOwnPropertyDescriptors(value)
}

function revoked(): unknown {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}
