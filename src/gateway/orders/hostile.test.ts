import { toUSVString } from 'node:util'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { prepareGateway, recordsOf, send } from '../../test/gateway.ts'
import { completePayloads } from '../../test/payloads.ts'
import type { Gateway } from '../index.ts'

const KEYS = 'k=REST-KEY-00000001&u=CUST-1'
const PATHS = ['save_order', 'update_order_status', 'add_subscriber', 'remove_subscriber'].map(
  (name) => `/api/v1/${name}`,
)
const FORM = 'application/x-www-form-urlencoded'
const JSON_TYPE = 'application/json'

let prepared: Awaited<ReturnType<typeof prepareGateway>>
let gateway: Gateway
const errors: unknown[] = []

beforeAll(async () => {
  prepared = await prepareGateway()
  // Time passes fast, so that nothing is limited by its rate.
  let clock = 0
  gateway = await prepared.start({
    monotonicNow: () => (clock += 60_000),
    onError: (error) => errors.push(error),
  })
  gateway.customers.add({ customerId: 'CUST-1', restKey: 'REST-KEY-00000001' })
})
afterAll(() => prepared.end())

async function post(path: string, type: string, body: string | Buffer) {
  const answer = await send(gateway.url, path, {
    method: 'POST',
    body,
    headers: { 'content-type': type },
  })
  return { ...answer, json: JSON.parse(answer.text) }
}

let saved = 0
/** An order of a shop is stored, beside whatever else is being sent. */
async function expectWorking(): Promise<void> {
  const order = { ...completePayloads.saveOrder, number: `good-${++saved}` }
  const answer = await post(`${PATHS[0]}?${KEYS}`, JSON_TYPE, JSON.stringify(order))
  expect(answer).toMatchObject({ status: 200, json: { stored: true } })
}

const many = (text: string, bytes = 250_000) => text.repeat(bytes / text.length)

/** What is expensive to read, or would be kept by a careless reader. */
test.each<[string, string, string | Buffer, number]>([
  ['separators', FORM, many('&'), 413],
  ['pairs without names', FORM, many('=&'), 413],
  ['one name again and again', FORM, many('a=1&'), 413],
  ['a name that is never closed', FORM, many('a['), 400],
  ['brackets', FORM, `a${many('[]')}`, 400],
  ['levels', FORM, `a${'[b]'.repeat(600)}=1`, 400],
  ['lists in lists', FORM, many('a[][][][][]=1&'), 413],
  ['a huge index', FORM, 'products[4294967294][price]=1&products[9007199254740993][price]=1', 422],
  ['an index of many digits', FORM, `products[${'9'.repeat(1_500)}][price]=1`, 422],
  [
    'indices that are far apart',
    FORM,
    Array.from({ length: 500 }, (_, i) => `products[${i ** 4}][price]=1`).join('&'),
    422,
  ],
  ['percent signs', FORM, `number=${many('%')}`, 422],
  ['invalid UTF-8', FORM, `number=${many('%ff')}`, 422],
  [
    'invalid UTF-8 in bytes',
    FORM,
    Buffer.concat([Buffer.from('number='), Buffer.alloc(100_000, 0xff)]),
    422,
  ],
  ['null characters', FORM, Buffer.alloc(100_000), 400],
  [
    'prototypes',
    FORM,
    '__proto__[number]=1&constructor[prototype][number]=1&number[__proto__]=1',
    422,
  ],
  ['a text where a list is', FORM, 'number=1&total_value=1&products=1', 422],
  ['a list where a text is', FORM, 'number[]=1&email[]=a@b.example&total_value[]=1', 422],
  ['an amount of many digits', FORM, `number=1&total_value=${many('1', 100_000)}`, 422],
  ['an amount of many commas', FORM, `number=1&total_value=1${',111'.repeat(20_000)}x`, 422],
  [
    'an e-mail address of many points',
    FORM,
    `email=${many('a.', 100_000)}@b.example&number=1`,
    422,
  ],
  ['brackets of JSON in a form', FORM, many('['), 400],
  ['lists of JSON', JSON_TYPE, `{"products":[${many('[],', 60_000)}[]]}`, 413],
  ['levels of JSON', JSON_TYPE, many('{"a":', 100_000), 400],
  [
    'products that are no objects',
    JSON_TYPE,
    `{"number":1,"total_value":1,"products":[${many('1,', 600)}1]}`,
    422,
  ],
  [
    'prototypes in JSON',
    JSON_TYPE,
    '{"__proto__":{"number":1},"constructor":1,"products":{"__proto__":[]}}',
    422,
  ],
  ['numbers of JSON', JSON_TYPE, '{"number":1e400,"total_value":-0,"email":9e999}', 422],
])('%s: refused, and orders are stored beside it', async (_, type, body, status) => {
  const [stranger, ...known] = await Promise.all([
    ...PATHS.map((path) => post(path, type, body)),
    ...PATHS.map((path) => post(`${path}?${KEYS}`, type, body)),
    expectWorking(),
  ]).then((answers) => answers.slice(0, 8) as Awaited<ReturnType<typeof post>>[])
  // Some are too large for the other routes, whose bodies may be smaller.
  expect([400, 401, 413]).toContain(stranger?.status)
  for (const answer of known) {
    expect([400, 401, 413, 422]).toContain(answer.status)
    expect(answer.json.message).toEqual(expect.any(String))
    expect(answer.bytes.length).toBeLessThan(20_000)
  }
  expect(known[3]?.status).toBe(status)
  expect(errors).toEqual([])
  expect({}).not.toHaveProperty('number')
})

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc.constantFrom(
    '',
    ' ',
    '1,234.50',
    '12,50',
    '-0',
    '1e3',
    'NaN',
    '__proto__',
    '\0',
    '9'.repeat(40),
  ),
  fc.constantFrom('a@b.example', '[]', '2027-02-30', '%', '\ufeff', '\u202e', 'ă😀'),
)
const value = fc.oneof({ weight: 3, arbitrary: text }, fc.jsonValue({ maxDepth: 3 }))
const field = fc.constantFrom(
  ...['number', 'email_address', 'total_value', 'products', 'discount_value', 'order_number'],
  ...[
    'order_status',
    'email',
    'channels',
    'attributes',
    'birthday',
    'add_tags',
    '__proto__',
    'k',
    'u',
  ],
)
const nameOfForm = fc
  .tuple(
    field,
    fc.array(fc.constantFrom('[]', '[0]', '[7]', '[price]', '[__proto__]', '[', ']'), {
      maxLength: 3,
    }),
  )
  .map(([name, parts]) => name + parts.join(''))
const form = fc
  .array(fc.tuple(nameOfForm, text), { maxLength: 12 })
  .map((pairs) =>
    pairs.map(([name, one]) => `${name}=${encodeURIComponent(toUSVString(one))}`).join('&'),
  )

test('whatever is generated is answered, and what is stored was valid', async () => {
  const before = (await recordsOf(gateway)).length
  let stored = 0
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...PATHS),
      fc.oneof(
        form.map((body) => [FORM, body] as const),
        fc.dictionary(field, value).map((one) => [JSON_TYPE, JSON.stringify(one)] as const),
        fc.constantFrom([JSON_TYPE, 'null'] as const, [FORM, 'null'] as const),
      ),
      fc.boolean(),
      async (path, [type, body], hasKeys) => {
        const { status, json } = await post(hasKeys ? `${path}?${KEYS}` : path, type, body)
        expect([200, 400, 401, 404, 413, 422]).toContain(status)
        if (status === 422) expect(json.message).toContain(json.issues[0].path)
        if (json.stored) stored++
      },
    ),
    { numRuns: 200 },
  )
  expect(errors).toEqual([])
  const records = (await recordsOf(gateway)).slice(before)
  expect(records).toHaveLength(stored)
  for (const { payload } of records) expect(() => JSON.parse(payload)).not.toThrow()
  await expectWorking()
})
