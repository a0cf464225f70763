import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Campaign, CampaignRecord } from '../../contract/index.ts'
import { prepareGateway, send } from '../../test/gateway.ts'
import { completePayloads } from '../../test/payloads.ts'
import type { Gateway } from '../index.ts'

/** The campaign operations, over the REST API of a real gateway. Each customer has campaigns of its own. */
let prepared: Awaited<ReturnType<typeof prepareGateway>>
let gateway: Gateway

beforeAll(async () => {
  prepared = await prepareGateway()
  gateway = await prepared.start()
})
afterAll(() => prepared.end())

let customers = 0
/** A customer with its REST operations. */
function addCustomer(of: Gateway = gateway) {
  const customerId = `c-${++customers}`
  of.customers.add({ customerId, restKey: 'REST-KEY-00000001' })
  return operationsOf(customerId, of)
}

function operationsOf(customerId: string, of: Gateway = gateway) {
  const call = async (path: string, body?: unknown, query = '') => {
    const target = `/api/v1/${path}?k=REST-KEY-00000001&u=${customerId}${query}`
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const answer = await send(
      of.url,
      target,
      text === undefined ? {} : { method: 'POST', body: text },
    )
    return { status: answer.status, json: JSON.parse(answer.text) }
  }
  return {
    customerId,
    create: (body: unknown = makeCampaign()) => call('campaigns/create', body),
    list: (filter: unknown = {}) => call('campaigns/list', filter),
    latest: (query = '') => call('get-latest-campaign', undefined, query),
    report: (id: string) => call(`campaigns/${id}/email/get-report`),
  }
}

type Given = { type?: string; name?: string; line?: string; at?: string; html?: string }
function makeCampaign({ type, name, line, at, html }: Given = {}): Campaign {
  const { subject, scheduling, content, ...rest } = completePayloads.create
  return {
    ...rest,
    type: (type ?? 'email') as Campaign['type'],
    subject: { ...subject, name: name ?? 'Spring', subject_line: line ?? 'New arrivals' },
    scheduling: { ...scheduling, send_at: at ?? '2027-03-01 09:30' },
    content: { html: html ?? content.html },
  }
}

/** The whole campaign, as the operators' pages get it. */
const findWhole = async (customerId: string, id: string): Promise<CampaignRecord> =>
  JSON.parse(Buffer.from((await gateway.campaigns.find(customerId, id)) ?? []).toString())

const namesOf = ({ json }: { json: { data: CampaignRecord[] } }) =>
  json.data.map(({ subject }) => subject.name)

test('a campaign gets an id, a state and a time, and lists leave its HTML out', async () => {
  const { customerId, create, list, latest } = addCustomer()
  const campaign = makeCampaign({ html: '<p>ă € 😀 </p>\n\u0000 end' })
  const { status, json: record } = await create({ ...campaign, more: 1, id: 'mine' })
  expect(status).toBe(200)
  expect(record).toEqual({
    ...campaign,
    id: expect.stringMatching(/^[\da-f]{8}-[\da-f]{4}-7[\da-f-]{21}$/),
    status: 'scheduled',
    created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
  })
  expect(Math.abs(Date.parse(record.created_at) - Date.now())).toBeLessThan(60_000)
  expect(await findWhole(customerId, record.id)).toEqual(record)
  const { content, ...summary } = record
  expect((await list()).json).toEqual({ data: [summary], page: 1, limit: 20, total: 1 })
  expect((await latest()).json).toEqual([summary])
})

test.each([
  ['no object', [], ['']],
  ['no field', {}, ['type', 'mode', 'sender', 'subject', 'content', 'tracking']],
  ['an impossible date', makeCampaign({ at: '2027-02-30 10:00' }), ['scheduling.send_at']],
  ['blank HTML', makeCampaign({ html: ' ' }), ['content.html']],
  ['HTML that is too long', makeCampaign({ html: 'ă'.repeat(512_001) }), ['content.html']],
  ['keys of a prototype', `{"__proto__":${JSON.stringify(makeCampaign())}}`, ['type', 'mode']],
])('a campaign with %s is refused and not stored', async (_, body, paths) => {
  const { create, list } = addCustomer()
  const { status, json } = await create(body)
  expect(status).toBe(422)
  const [{ path, message }] = json.issues
  expect(json.message).toBe(`The campaign is invalid: ${path && `${path}: `}${message}`)
  expect(json.issues.map(({ path }: { path: string }) => path)).toEqual(
    expect.arrayContaining(paths),
  )
  expect((await list()).json.total).toBe(0)
})

test('the longest HTML is accepted; other long texts are not', async () => {
  const { customerId, create } = addCustomer()
  const longest = makeCampaign({ html: '😀'.repeat(512_000) })
  const { json: record } = await create(longest)
  expect(record.content).toEqual(longest.content)
  expect((await findWhole(customerId, record.id)).content).toEqual(longest.content)
  expect((await create(makeCampaign({ name: 'x'.repeat(2049) }))).status).toBe(422)
  expect((await create(makeCampaign({ name: '😀'.repeat(2048) }))).status).toBe(200)
})

test('keys of prototypes are not kept and change nothing', async () => {
  const { create, list } = addCustomer()
  const special = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},'
  await create(special + JSON.stringify(makeCampaign()).slice(1))
  const { data } = (await list()).json
  expect(Object.keys(data[0])).not.toContain('constructor')
  expect({}).not.toHaveProperty('polluted')
})

test('a customer sees only its own campaigns', async () => {
  const [mine, theirs] = [addCustomer(), addCustomer()]
  const { json: record } = await mine.create()
  expect((await theirs.list()).json.total).toBe(0)
  expect((await theirs.latest()).json).toEqual([])
  expect((await theirs.report(record.id)).status).toBe(404)
  // The store compares ids as they are.
  const wild = operationsOf('%25')
  gateway.customers.add({ customerId: '%', restKey: 'REST-KEY-00000001' })
  expect((await wild.list()).json.total).toBe(0)
})

test('pages: newest first, out of range is clamped, beyond the last is empty', async () => {
  const { create, list } = addCustomer()
  for (let i = 1; i <= 25; i++) await create(makeCampaign({ name: `n${i}` }))
  const namesFrom = (from: number, to: number) =>
    Array.from({ length: from - to + 1 }, (_, i) => `n${from - i}`)
  const expectPage = async (filter: object, page: number, limit: number, names: string[]) => {
    const answer = await list(filter)
    expect(answer.json).toMatchObject({ page, limit, total: 25 })
    expect(namesOf(answer)).toEqual(names)
  }
  await expectPage({}, 1, 20, namesFrom(25, 6))
  await expectPage({ page: null, limit: '' }, 1, 20, namesFrom(25, 6))
  await expectPage({ page: '2' }, 2, 20, namesFrom(5, 1))
  await expectPage({ page: ' +2 ', limit: '010' }, 2, 10, namesFrom(15, 6))
  await expectPage({ page: '0', limit: '1000' }, 1, 100, namesFrom(25, 1))
  await expectPage({ page: '-7', limit: '-7' }, 1, 1, ['n25'])
  await expectPage({ page: '3' }, 3, 20, [])
  await expectPage({ page: '9'.repeat(400) }, Number.MAX_SAFE_INTEGER, 20, [])
  await expectPage({ page: '9'.repeat(15), limit: '100' }, 999_999_999_999_999, 100, [])
})

test.each([
  [{ page: 'x' }, ['page']],
  [{ page: '1.5', limit: '1e3' }, ['page', 'limit']],
  [{ limit: '٣' }, ['limit']],
  [{ page: 2 }, ['page']],
  [{ search: ['a'] }, ['search']],
  [{ start_date: '2026-02-30' }, ['start_date']],
  [{ start_date: '2026-1-1' }, ['start_date']],
  [{ start_date: '2026-01-01 10:00' }, ['start_date']],
  [{ start_date: '+010000-01-01' }, ['start_date']],
  [{ start_date: 'x', page: 'x', limit: 'x' }, ['page', 'limit', 'start_date']],
])('the filter %j is refused', async (filter, paths) => {
  const { status, json } = await addCustomer().list(filter)
  expect(status).toBe(422)
  expect(json.issues.map(({ path }: { path: string }) => path)).toEqual(paths)
})

test('a search finds part of the name or of the subject line, in any case and script', async () => {
  const { create, list } = addCustomer()
  const found = async (search: string) => namesOf(await list({ search }))
  await create(makeCampaign({ name: 'Zăpadă 100%', line: 'ΟΔΟΣ' }))
  await create(makeCampaign({ name: 'snow_2027', line: 'Über alles' }))
  await create(makeCampaign({ name: 'it\'s \\ "quoted"', line: 'ＦＵＬＬ width' }))
  expect(await found('ZĂPADĂ')).toEqual(['Zăpadă 100%'])
  expect(await found('za\u0306pada\u0306')).toEqual(['Zăpadă 100%'])
  expect(await found('zapada')).toEqual([])
  expect(await found('οδοσ')).toEqual(['Zăpadă 100%'])
  expect(await found('%')).toEqual(['Zăpadă 100%'])
  expect(await found('0%')).toEqual(['Zăpadă 100%'])
  expect(await found('_')).toEqual(['snow_2027'])
  expect(await found('snow?')).toEqual([])
  expect(await found('üBER')).toEqual(['snow_2027'])
  expect(await found("it's \\")).toEqual(['it\'s \\ "quoted"'])
  expect(await found(' full ')).toEqual(['it\'s \\ "quoted"'])
  expect(await found("' OR 1=1 --")).toEqual([])
  // The name and the subject line are searched separately.
  expect(await found('100%Ο')).toEqual([])
  expect(await found('\u0000')).toEqual([])
})

test('only the beginning of a long name or subject line is searched', async () => {
  const { create, list } = addCustomer()
  const found = async (search: string) => (await list({ search })).json.total
  const long = (text: string) => `${'x'.repeat(990)} ${text}`
  await create(makeCampaign({ name: long('KNOWN beyond'), line: long('Line beyond') }))
  expect(await found('x known')).toBe(1)
  expect(await found('x line')).toBe(1)
  expect(await found('beyond')).toBe(0)
  // One character that folds to eighteen.
  await create(makeCampaign({ name: `start${'ﷺ'.repeat(999)}`, line: 'ﷺ end' }))
  expect(await found('startصلى')).toBe(1)
  expect(await found('وسلم end')).toBe(1)
})

test('type, day and state narrow a list, alone and together', async () => {
  const { create, list } = addCustomer()
  await create(makeCampaign({ name: 'a', at: '2027-03-01 00:00' }))
  await create(makeCampaign({ name: 'b', at: '2027-02-28 23:59', type: 'sms' }))
  await create(makeCampaign({ name: 'c', at: '2027-03-02 12:00', type: 'push' }))
  const found = async (filter: object) => namesOf(await list(filter)).join('')
  expect(await found({ type: 'sms' })).toBe('b')
  expect(await found({ type: 'SMS' })).toBe('')
  expect(await found({ start_date: '2027-03-01' })).toBe('ca')
  expect(await found({ start_date: '2027-02-28' })).toBe('cba')
  expect(await found({ start_date: '2027-03-03' })).toBe('')
  expect(await found({ filters: 'scheduled' })).toBe('cba')
  expect(await found({ filters: ' sent , scheduled,' })).toBe('cba')
  expect(await found({ filters: 'sent' })).toBe('')
  expect(await found({ filters: '","' })).toBe('')
  expect(await found({ filters: ',' })).toBe('')
  expect(await found({ type: 'push', start_date: '2027-03-01', filters: 'scheduled' })).toBe('c')
  const filter = { search: 'B', type: 'push' }
  expect((await list(filter)).json).toEqual({ data: [], page: 1, limit: 20, total: 0 })
})

test.each([
  ['', 1],
  ['&limit=1', 1],
  ['&limit=2', 2],
  ['&limit=3', 3],
  ['&limit=101', 3],
  ['&limit=%202%20', 2],
  [`&limit=${'9'.repeat(400)}`, 3],
  ['&limit=2&limit=x', 2],
])('the latest campaigns, %j: %i', async (query, count) => {
  const { create, latest } = addCustomer()
  for (const name of ['a', 'b', 'c']) await create(makeCampaign({ name }))
  const { json } = await latest(query)
  expect(json.map(({ subject }: CampaignRecord) => subject.name)).toEqual(
    ['c', 'b', 'a'].slice(0, count),
  )
})

test.each(['', '0', '-1', '1.5', '1e2', 'x', '٣', '0x10'])(
  'the latest %j campaigns are refused',
  async (limit) => {
    const { status, json } = await addCustomer().latest(`&limit=${encodeURIComponent(limit)}`)
    expect(status).toBe(422)
    expect(json.issues[0].path).toBe('limit')
  },
)

test('HEAD answers the latest campaigns without a body', async () => {
  const { customerId, create } = addCustomer()
  await create()
  const target = `/api/v1/get-latest-campaign?k=REST-KEY-00000001&u=${customerId}`
  for (let i = 0; i < 30; i++) {
    const answer = await send(gateway.url, target, { method: 'HEAD' })
    expect(answer).toMatchObject({ status: 200, text: '' })
  }
  expect((await send(gateway.url, target)).status).toBe(200)
})

test('only an e-mail campaign that exists has a report', async () => {
  const { create, report } = addCustomer()
  const { json: email } = await create()
  const { json: sms } = await create(makeCampaign({ type: 'sms' }))
  expect(await report(email.id)).toMatchObject({
    status: 200,
    json: { campaign_id: email.id, visitors: 0, days: [] },
  })
  expect(await report(sms.id)).toMatchObject({
    status: 404,
    json: { message: 'Only e-mail campaigns have an e-mail report, and this one is on sms' },
  })
  for (const id of ['none', '%', '%zz', '%00', '%2E%2E%2F', '__proto__', email.id.toUpperCase()])
    expect(await report(id)).toMatchObject({
      status: 404,
      json: { message: 'There is no campaign with this id' },
    })
})

test.each([
  ['a b/ă', 'a%20b%2F%C4%83'],
  ['50%25', '50%2525'],
  ['a?b#c', 'a%3Fb%23c'],
])('the id %j is one segment of the path, decoded once', async (id, segment) => {
  const { customerId, report } = addCustomer()
  const record = { ...makeCampaign(), status: 'scheduled', created_at: '2026-01-01T00:00:00.000Z' }
  await gateway.campaigns.create(customerId, { ...record, id } as CampaignRecord)
  expect(await report(segment)).toMatchObject({ status: 200, json: { campaign_id: id } })
})

test('a campaign’s visits are in its report as soon as they are stored', async () => {
  const { customerId, create, report } = addCustomer()
  const { json: campaign } = await create()
  const { trackingKey } = gateway.customers.find(customerId) ?? { trackingKey: '' }
  const visit = {
    ...completePayloads.viewProduct,
    event: 'view_product',
    http_user_agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
    url: 'https://shop.example/?utm_campaign=spring&utm_medium=email&utm_source=newsletter',
  }
  const target = `/t/r?k=${trackingKey}&api_key=REST-KEY-00000001`
  await send(gateway.url, target, { method: 'POST', body: JSON.stringify(visit) })
  expect((await report(campaign.id)).json).toMatchObject({
    visitors: 1,
    events: { view_product: 1 },
    funnel: { view_product: 1, add_to_cart: 0 },
  })
})

test('two gateways over one file: each creates, both list', async () => {
  const second = await prepared.start()
  const first = addCustomer()
  const other = operationsOf(first.customerId, second)
  const created = await Promise.all([first.create(), other.create(), first.create()])
  expect(created.map(({ status }) => status)).toEqual([200, 200, 200])
  const { json } = await first.list()
  expect(json.total).toBe(3)
  expect((await other.list()).json).toEqual(json)
})

test('campaigns survive a restart, and no new customer gets those of a removed one', async () => {
  const dataDir = join(prepared.folder, 'restarted')
  const before = await prepared.start({ dataDir })
  const { customerId, create, list } = addCustomer(before)
  await create()
  const { json } = await list()
  await before.close()
  const after = await prepared.start({ dataDir })
  const again = operationsOf(customerId, after)
  expect((await again.list()).json).toEqual(json)
  // Without any customer the gateway would report its data as lost.
  addCustomer(after)
  after.customers.remove(customerId)
  expect((await again.list()).status).toBe(404)
  expect(() => after.customers.add({ customerId })).toThrow('can not be used again')
  expect((await again.list()).status).toBe(404)
})

test('a campaign whose id exists is not changed', async () => {
  const { customerId, list } = addCustomer()
  const record = { ...makeCampaign(), id: 'x', status: 'scheduled', created_at: '2026-01-01' }
  await gateway.campaigns.create(customerId, record as CampaignRecord)
  await gateway.campaigns.create(customerId, { ...record, type: 'sms' } as CampaignRecord)
  expect((await list()).json).toMatchObject({ total: 1, data: [{ type: 'email' }] })
})

test('campaigns count in the daily quota of bytes, also after a restart', async () => {
  const limits = { daily: { bytes: 3_000 } }
  const first = await prepared.start({ limits })
  const small = addCustomer(first)
  const large = makeCampaign({ html: 'x'.repeat(4_000) })
  expect((await small.create(large)).status).toBe(200)
  const refused = await small.create()
  expect(refused.status).toBe(429)
  expect(refused.json.message).toMatch(/^The daily quota of this customer’s servers is used up/)
  expect((await addCustomer(first).create()).status).toBe(200)
  const again = operationsOf(small.customerId, await prepared.start({ limits }))
  expect((await again.create()).status).toBe(429)
  expect((await again.list()).json.total).toBe(1)
})
