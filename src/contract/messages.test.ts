import { expect, test } from 'vitest'
import { completePayloads, operations } from '../test/payloads.ts'
import { type Operation, validate } from './index.ts'
import { isRecordOperation } from './recordOperations.ts'

const SECRET = 'S3CRET-REST-KEY'

type Fields = { readonly [field: string]: unknown }

/** Every field of a payload, dotted, with a payload in which it has another value. */
function replaceEach(payload: Fields, value: unknown): readonly [path: string, changed: Fields][] {
  return Object.entries(payload).flatMap(([field, inner]) => {
    const nested =
      typeof inner === 'object' && inner !== null ? replaceEach(inner as Fields, value) : []
    return [
      [field, { ...payload, [field]: value }],
      ...nested.map(
        ([path, changed]) => [`${field}.${path}`, { ...payload, [field]: changed }] as const,
      ),
    ] as [string, Fields][]
  })
}

/** Fields of a shop's server that may be a number with a fraction. */
const NUMBERS =
  /^(discount_(value|code)|shipping|tax|total_value|(first|last)?name|phone|city|county|country|address|attributes\..*|products\.\d+\.(price|quantity|variation_sku))$/
/** Lists: one in them is a faulty element. */
const LISTS = /^(products|add_tags|channels)$/

test.each(operations)(
  '%s: the issue of each field says what was expected and what was received',
  (operation) => {
    for (const value of [Symbol('s'), 0.5, [[]], () => 1]) {
      for (const [path, payload] of replaceEach(completePayloads[operation], value)) {
        if (value === 0.5 && isRecordOperation(operation) && NUMBERS.test(path)) continue
        const checked = validate(operation, payload)
        expect(checked.ok, path).toBe(false)
        if (checked.ok) continue
        const faulty = Array.isArray(value) && LISTS.test(path) ? `${path}.0` : path
        expect(checked.error.issues.map((issue) => issue.path)).toEqual([faulty])
        expect(checked.error.issues[0]?.message).toMatch(/^Expected [^"]+, received [\w. ]+$/)
      }
    }
  },
)

const page = completePayloads.viewHomepage
const line = completePayloads.addToCart
const campaign = completePayloads.create
const order = completePayloads.saveOrder

test.each<[Operation, unknown, string]>([
  ['viewHomepage', null, 'Expected an object, received null'],
  ['viewHomepage', [], 'Expected an object, received a list'],
  ['viewHomepage', 'words', 'Expected an object, received text of 5 characters'],
  [
    'viewHomepage',
    { ...page, did: ' ' },
    'did: Expected text of 1 to 128 characters, not blank, received " "',
  ],
  [
    'viewHomepage',
    { ...page, did: 7 },
    'did: Expected text of 1 to 128 characters, not blank, received 7',
  ],
  [
    'viewHomepage',
    { ...page, source: 7 },
    'source: Expected text of at most 2048 characters, received 7',
  ],
  [
    'viewHomepage',
    { ...page, url: 'nope' },
    'url: Expected an http or https address of at most 8192 characters, its host of at most 253, received "nope"',
  ],
  [
    'sendCustom',
    { ...page, email: 'a@@b.example' },
    'email: Expected an e-mail address of at most 254 characters, received "a@@b.example"',
  ],
  [
    'addToCart',
    { ...line, quantity: '2' },
    'quantity: Expected a whole number from 1, received "2"',
  ],
  [
    'addToCart',
    { ...line, product_id: '12.0' },
    'product_id: Expected a whole number from 1, of at most 2048 digits, received "12.0"',
  ],
  [
    'addToCart',
    { ...line, variation: 'TEE-S' },
    'variation: Expected an object, received text of 5 characters',
  ],
  ['addToCart', { ...line, variation: [] }, 'variation: Expected an object, received a list'],
  [
    'addToCart',
    { ...line, variation: { id: '1' } },
    'variation.sku: Expected text of 1 to 2048 characters, not blank, received undefined',
  ],
  ['create', { ...campaign, type: 'fax' }, 'type: Expected sms or email or push, received "fax"'],
  [
    'create',
    { ...campaign, audience: { audience_type: 'some', smart_sending: 'yes' } },
    'audience.audience_type: Expected all, received "some"; audience.smart_sending: Expected true or false, received "yes"',
  ],
  [
    'create',
    { ...campaign, content: { html: 'x'.repeat(512_001) } },
    'content.html: Expected HTML of 1 to 512000 characters, not blank, received text of 512001 characters',
  ],
  [
    'create',
    { ...campaign, content: { html: '' } },
    'content.html: Expected HTML of 1 to 512000 characters, not blank, received text of 0 characters',
  ],
  [
    'create',
    {
      ...campaign,
      scheduling: { send_at: '2026-02-30 10:00', use_optimal_time: true, optimize_for: 'x' },
    },
    'scheduling.send_at: Expected a date and time as YYYY-MM-DD HH:MM, received "2026-02-30 10:00"; scheduling.use_optimal_time: Expected 0 or 1, received true; scheduling.optimize_for: Expected opening or buying, received "x"',
  ],
  [
    'getEmailReport',
    { id: '..' },
    'id: Expected a campaign id of 1 to 2048 characters that can be a segment of a path, received ".."',
  ],
  ['getLatestCampaign', { limit: 0 }, 'limit: Expected a whole number from 1, received 0'],
  ['list', { page: 1 }, 'page: Expected text of at most 2048 characters, received 1'],
  [
    'serveJavascript',
    { trackingKey: 'ABC12' },
    'trackingKey: Expected a tracking key of 6 to 20 characters, not blank, received text of 5 characters',
  ],
  [
    'saveOrder',
    { ...order, number: ' ', total_value: '12,50', email_address: 'ana' },
    'number: Expected text of 1 to 128 characters, not blank, or a whole number, received " "; email_address: Expected an e-mail address of at most 254 characters, received "ana"; total_value: Expected an amount such as 1234.5 or 1,234.50, received "12,50"',
  ],
  [
    'saveOrder',
    { ...order, products: [order.products[0], { product_id: 1, price: '€5', quantity: -1 }] },
    'products.1.price: Expected an amount such as 1234.5 or 1,234.50, received "€5"; products.1.quantity: Expected a number from 0 to 999999999, with at most 6 decimals if it is text, received -1',
  ],
  [
    'saveOrder',
    { ...order, products: 'MUG' },
    'products: Expected a list of at most 500 products, received "MUG"',
  ],
  [
    'addSubscriber',
    { email: 'ana@shop.example', attributes: { size: ['M'] }, channels: ['sms', {}] },
    'channels.1: Expected text of 1 to 128 characters, not blank, or a whole number, received object; attributes.size: Expected text of at most 2048 characters, a number, true or false, received a list',
  ],
])('%s of %j', (operation, payload, message) => {
  const checked = validate(operation, payload)
  expect(!checked.ok && checked.error.message).toBe(message)
})

test.each(operations)('%s: no issue shows a secret that was given as the payload', (operation) => {
  const values = [SECRET, [SECRET], { [SECRET]: SECRET }, { restKey: SECRET }]
  for (const payload of values) {
    const checked = validate(operation, payload)
    if (checked.ok) expect(checked.payload).toEqual({})
    else expect(everythingOf(checked.error)).not.toContain(SECRET)
  }
})

test.each([`${SECRET}-and-much-more`, [SECRET], { [SECRET]: 1 }])(
  'an invalid tracking key is never shown: %j',
  (trackingKey) => {
    const checked = validate('serveJavascript', { trackingKey })
    expect(checked.ok).toBe(false)
    if (!checked.ok) expect(everythingOf(checked.error)).not.toContain(SECRET)
  },
)

test.each([
  [`ftp://ana:${SECRET}@shop.example/`, '"ftp…"'],
  [`//ana:${SECRET}@shop.example/`, '"//ana…"'],
  [`/account?token=${SECRET}`, '"/account…"'],
  [`account#token=${SECRET}`, '"account…"'],
  [`\n https://shop.example/?token=${SECRET}`, '"\n https…"'],
  [`a\n?token=${SECRET}`, '"a\n…"'],
])('an invalid URL is shown only up to its scheme or path: %j', (url, shown) => {
  const checked = validate('viewHomepage', { ...page, url })
  expect(checked.ok).toBe(false)
  if (checked.ok) return
  expect(everythingOf(checked.error)).not.toContain(SECRET)
  expect(checked.error.issues[0]?.message).toBe(
    `Expected an http or https address of at most 8192 characters, its host of at most 253, received ${shown}`,
  )
})

test('a long value is shown in part', () => {
  const checked = validate('addToCart', { ...line, quantity: 'x'.repeat(100_000) })
  expect(!checked.ok && checked.error.message.length).toBeLessThan(200)
})

function everythingOf(error: Error): string {
  return `${error} ${error.stack} ${JSON.stringify(error)} ${JSON.stringify(error.cause ?? '')}`
}
