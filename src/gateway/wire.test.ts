import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { prepareGateway, recordsOf } from '../test/gateway.ts'
import { completePayloads } from '../test/payloads.ts'
import { openConnection } from '../test/rawRequest.ts'
import { NO_ORDERS } from '../test/reportFields.ts'
import type { Gateway } from './index.ts'

/** A request as an existing public client makes it. */
type Recorded = {
  readonly client: 'php' | 'node'
  readonly method: string
  readonly path: string
  readonly query_raw: string
  readonly body_raw: string
}
const { vectors, headers } = JSON.parse(
  readFileSync(new URL('./fixtures/wire.json', import.meta.url), 'utf8'),
) as {
  readonly vectors: readonly {
    readonly operation: string
    readonly recorded: readonly Recorded[]
  }[]
  readonly headers: Record<string, Record<string, Record<string, string>>>
}

let prepared: Awaited<ReturnType<typeof prepareGateway>>
let gateway: Gateway

beforeAll(async () => {
  prepared = await prepareGateway()
  gateway = await prepared.start()
  const { campaigns, customers } = gateway
  const CUSTOMER = { customerId: 'CUST-1', restKey: 'REST-KEY-00000001', trackingKey: 'TRACKKEY1' }
  customers.add(CUSTOMER)
  customers.add({ trackingKey: 'OTHERKEY99' })
  await campaigns.create('CUST-1', {
    ...completePayloads.create,
    id: '99',
    status: 'scheduled',
    created_at: '2026-01-01T00:00:00.000Z',
  })
})
afterAll(() => prepared.end())

/** The head as the client writes it, byte for byte, with the length of this body. */
function headOf({ client, method, path, query_raw, body_raw }: Recorded, expectation = '') {
  const kind = method === 'GET' ? 'GET' : body_raw ? 'POST_with_body' : 'POST_without_body'
  const lines = Object.entries(headers[client]?.[kind] ?? {}).map(([name, value]) => {
    const isLength = name.toLowerCase() === 'content-length'
    return `${name}: ${isLength ? Buffer.byteLength(body_raw) : value}`
  })
  const target = `${path}?${query_raw}`
  const host = `Host: 127.0.0.1:${gateway.port}`
  return [`${method} ${target} HTTP/1.1`, host, ...lines, expectation].filter(Boolean).join('\n')
}

/** Sends a recorded request over a connection of its own. */
async function replay(recorded: Recorded, expectation?: string) {
  const connection = await openConnection(gateway.port)
  try {
    const head = headOf(recorded, expectation)
    const answer = await connection.request(head, recorded.body_raw)
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
    return { ...answer, json: JSON.parse(answer.text) }
  } finally {
    connection.socket.destroy()
  }
}

const ID = expect.stringMatching(/^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/)
const { content: _, ...SUMMARY } = completePayloads.create
const NAMES = ['id', 'status', 'created_at', ...Object.keys(SUMMARY)]
const aSummary = Object.fromEntries(NAMES.map((name) => [name, expect.anything()]))
const created = (body: object) => ({
  ...body,
  id: ID,
  status: 'scheduled',
  created_at: expect.stringMatching(/^\d{4}-.+Z$/),
})
/** JSON of a report without events. */
const REPORT = {
  ...NO_ORDERS,
  campaign_id: '99',
  bots: { visitors: 0, events: 0, included: expect.any(Boolean) },
  from: null,
  to: null,
  visitors: 0,
  identified: 0,
  events: {},
  funnel: { view_product: 0, add_to_cart: 0, initiate_checkout: 0, order: 0 },
  days: [],
}
const served = (trackingKey: string) => ({
  trackingKey,
  version: expect.any(String),
  integrity: expect.stringMatching(/^sha384-/),
  config: expect.objectContaining({ key: trackingKey }),
  script: expect.any(String),
})

/** The success of each operation, or of each request that is named by `expect` in the fixture. */
const promised: Record<string, (body: object) => unknown> = {
  list: () => ({
    data: expect.arrayContaining([aSummary]),
    page: 1,
    limit: 20,
    total: AT_LEAST_ONE,
  }),
  'list(filtered)': () => ({ data: [], page: 2, limit: 25, total: 0 }),
  'list(blank and null filters)': () => ({
    data: expect.arrayContaining([aSummary]),
    page: 1,
    limit: 20,
    total: AT_LEAST_ONE,
  }),
  create: created,
  "create(use_optimal_time '1')": created,
  getEmailReport: () => REPORT,
  'getEmailReport(odd id)': () => ({ message: 'There is nothing at this address' }),
  getLatestCampaign: () => [aSummary],
  'getLatestCampaign(5)': () => expect.arrayContaining([aSummary]),
  serveJavascript: () => served('TRACKKEY1'),
  'serveJavascript(another key than configured)': () => served('OTHERKEY99'),
  checkApiCredentials: () => [],
  checkCredentials: () => [],
}
const AT_LEAST_ONE = expect.toSatisfy((total: number) => total >= 1)
const event = () => ({ id: ID })

const table = vectors.flatMap(({ operation, recorded }) =>
  recorded.map((request) => ({ operation, client: request.client, request })),
)

test('every operation is in the table', () => {
  expect(table).toHaveLength(52)
})

test.each(table)('$operation of the $client client', async ({ operation, request }) => {
  const { status, json } = await replay(request)
  const body = request.body_raw ? JSON.parse(request.body_raw) : {}
  expect(json).toEqual((promised[operation] ?? event)(body))
  expect(status).toBe(operation === 'getEmailReport(odd id)' ? 404 : 200)
  if (promised[operation]) return
  const record = (await recordsOf(gateway)).at(-1)
  expect(record).toMatchObject({ id: json.id, customer: 'CUST-1', event: body.event })
  expect(JSON.parse(record?.payload ?? '')).toEqual(body)
  if (operation === 'sendCustomApi')
    expect(record).toMatchObject({ operation, did: null, bot: false })
})

test.each(['php', 'node'] as const)(
  'a campaign that the %s client has created is listed',
  async (client) => {
    const [, , , creating] = vectors
    const request = creating?.recorded.find((one) => one.client === client) as Recorded
    const { json: record } = await replay(request)
    const path = '/api/v1/get-latest-campaign'
    const { json: latest } = await replay({ ...request, method: 'GET', path, body_raw: '' })
    const { content, ...summary } = record
    expect(latest).toEqual([summary])
    const whole = await gateway.campaigns.find('CUST-1', record.id)
    expect(JSON.parse(`${Buffer.from(whole ?? [])}`)).toEqual(record)
  },
)

/** Bodies as the PHP client writes them, every character escaped where it can be. */
test.each([
  [1_792_480, 'aă', 256_000],
  [6_144_480, '😀', 512_000],
])('a campaign of %i bytes, sent after 100 Continue', async (bytes, text, times) => {
  const request = vectors.find(({ operation }) => operation === 'create')?.recorded[0] as Recorded
  const campaign = JSON.parse(request.body_raw)
  campaign.content.html = text.repeat(times)
  const padding = bytes - Buffer.byteLength(toAscii(campaign))
  campaign.subject.name += 'x'.repeat(padding)
  const body_raw = toAscii(campaign)
  expect(Buffer.byteLength(body_raw)).toBe(bytes)
  const answer = await replay({ ...request, body_raw }, 'Expect: 100-Continue')
  expect(answer.continued).toBe(true)
  expect(answer.status).toBe(200)
  expect(answer.json).toEqual(created(campaign))
})

const toAscii = (value: unknown): string =>
  JSON.stringify(value).replace(
    /[^\0-\x7f]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
