import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { prepareGateway, send } from '../../test/gateway.ts'
import type { Gateway } from '../index.ts'

let prepared: Awaited<ReturnType<typeof prepareGateway>>
let gateway: Gateway
/** Cookies of an operator who may see the shop. */
let cookie = ''

beforeAll(async () => {
  prepared = await prepareGateway()
  gateway = await prepared.start({ demo: true })
  const { restKey } = gateway.customers.add({
    customerId: 'shop',
    origins: ['https://shop.example'],
  })
  gateway.customers.add({ customerId: 'other' })
  cookie = await signIn('shop', restKey)
})
afterAll(() => prepared.end())

/** An operator on another machine. */
const REMOTE = { host: 't.shop.example' }

const get = (path: string, headers: Record<string, string> = { ...REMOTE, cookie }) =>
  send(gateway.url, `/campaigns/data/${path}`, { headers })
const post = (target: string, body: unknown, headers: Record<string, string> = {}) =>
  send(gateway.url, target, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
const signIn = async (customerId: string, restKey: string) => {
  const answer = await post('/live/login', { customerId, restKey }, REMOTE)
  return answer.headers['set-cookie']?.[0]?.split(';')[0] ?? ''
}
const create = (body: unknown, query = 'customer=shop', headers: Record<string, string> = {}) =>
  post(`/campaigns/data/create?${query}`, body, { ...REMOTE, cookie, ...headers })
const jsonOf = ({ text }: { text: string }) => JSON.parse(text)

const campaign = (name: string, type = 'email') => ({
  type,
  mode: 'regular',
  sender: { name: 'Ann', sender: 'ann@shop.example', reply_to: 'ann@shop.example' },
  audience: { audience_type: 'all', smart_sending: false },
  subject: { name, subject_line: `${name}, now`, preview_text: 'Look' },
  content: { html: '<p>Hello</p>' },
  scheduling: { send_at: '2026-12-01 09:00', use_optimal_time: 0, optimize_for: 'buying' },
  tracking: { utm_campaign: 'mugs', utm_medium: 'email', utm_source: 'letter' },
})

test('a campaign is created, listed without its HTML, found whole, and has a report', async () => {
  const created = await create(campaign('Mugs'))
  expect(created.status).toBe(200)
  const { id } = jsonOf(created)
  await create(campaign('Teapots', 'sms'))
  const listed = jsonOf(await get('list?customer=shop'))
  expect(listed).toMatchObject({ page: 1, limit: 20, total: 2 })
  expect(listed.data.map((head: { subject: { name: string } }) => head.subject.name)).toEqual([
    'Teapots',
    'Mugs',
  ])
  expect(listed.data[0]).not.toHaveProperty('content')
  expect(jsonOf(await get(`campaign?customer=shop&id=${id}`))).toMatchObject(campaign('Mugs'))
  expect(jsonOf(await get(`report?customer=shop&id=${id}`))).toMatchObject({
    campaign_id: id,
    visitors: 0,
    days: [],
  })
})

test('the list takes a search, a channel and pages', async () => {
  const find = async (query: string) => jsonOf(await get(`list?customer=shop&${query}`))
  expect(await find('search=TEAPOT')).toMatchObject({ total: 1 })
  expect(await find('type=email&search=')).toMatchObject({ total: 1 })
  expect(await find('page=2&limit=1')).toMatchObject({ page: 2, limit: 1, total: 2 })
  expect((await get('list?customer=shop&page=two')).status).toBe(422)
})

test('the faults of a campaign are listed by field', async () => {
  const wrong = campaign(' ')
  wrong.scheduling.send_at = '2026-02-30 09:00'
  const answer = await create(wrong)
  expect(answer.status).toBe(422)
  expect(jsonOf(answer).issues).toEqual([
    {
      path: 'subject.name',
      message: 'Expected text of 1 to 2048 characters, not blank, received " "',
    },
    expect.objectContaining({ path: 'scheduling.send_at' }),
  ])
})

test('a report of another channel is refused with the reason', async () => {
  const { data } = jsonOf(await get('list?customer=shop&type=sms'))
  const answer = await get(`report?customer=shop&id=${data[0].id}`)
  expect(answer.status).toBe(404)
  expect(jsonOf(answer).message).toContain('sms')
})

test.each(['list', 'campaign?id=x', 'report?id=x'])(
  '%s needs a sign-in for the customer',
  async (path) => {
    const [name, query = ''] = path.split('?')
    expect((await get(path, REMOTE)).status).toBe(401)
    expect((await get(`${name}?customer=other&${query}`)).status).toBe(403)
    // Open on localhost, and only there.
    expect((await get(`${name}?customer=demo&${query}`)).status).toBe(403)
  },
)

test('creating a campaign needs a sign-in for the customer, and is impossible from a form of another page', async () => {
  const good = campaign('Mugs')
  expect((await create(good, 'customer=other')).status).toBe(403)
  expect((await create(good, 'customer=shop', { cookie: 'shoptrail=nothing' })).status).toBe(401)
  for (const type of ['text/plain', 'application/x-www-form-urlencoded'])
    expect((await create(good, 'customer=shop', { 'content-type': type })).status).toBe(415)
  expect((await create('{')).status).toBe(400)
  expect((await create('x'.repeat(7 * 2 ** 20 + 1))).status).toBe(413)
  expect(jsonOf(await get('list?customer=shop')).total).toBe(2)
})

/** A create whose body is never sent whole. Resolves when the gateway reads it. */
function holdCreate(customerId: string, held: string) {
  const { hostname, port } = new URL(gateway.url)
  const socket = connect(Number(port), hostname)
  const head = [
    `POST /campaigns/data/create?customer=${customerId} HTTP/1.1`,
    `Host: ${REMOTE.host}`,
    `Cookie: ${held}`,
    'Content-Type: application/json',
    'Content-Length: 100',
    'Expect: 100-continue',
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n`)
  return new Promise<Socket>((resolve, reject) => {
    socket.on('error', reject)
    socket.once('data', (data) =>
      `${data}`.includes('100') ? resolve(socket) : reject(new Error(`${data}`)),
    )
  })
}

test('a slow sender holds one permit of two, and does not block other customers', async () => {
  const { restKey } = gateway.customers.add({ customerId: 'slow' })
  const own = await signIn('slow', restKey)
  const createSlow = () => create(campaign('Slow'), 'customer=slow', { cookie: own })
  const socket = await holdCreate('slow', own)
  const second = await createSlow()
  expect(second.status).toBe(429)
  expect(second.headers['retry-after']).toBe('1')
  expect((await create(campaign(' '))).status).toBe(422)
  socket.destroy()
  await expect.poll(async () => (await createSlow()).status).toBe(200)
})

test('another customer’s campaign is not found', async () => {
  const answer = await get('campaign?customer=shop&id=autumn-mugs')
  expect(answer.status).toBe(404)
  expect((await get('report?customer=shop&id=autumn-mugs')).status).toBe(404)
})

test('the demo customer has one campaign after several starts, on localhost without a sign-in', async () => {
  await prepared.start({ demo: true })
  const listed = jsonOf(await get('list', {}))
  expect(listed).toMatchObject({ total: 1, data: [{ id: 'autumn-mugs', type: 'email' }] })
  expect(jsonOf(await get('report?id=autumn-mugs', {}))).toMatchObject({ visitors: 0 })
})

test('without the demo there is no campaign of it', async () => {
  const other = await prepareGateway()
  try {
    const plain = await other.start()
    expect(await plain.campaigns.list('demo', { page: 1, limit: 1 })).toMatchObject({ total: 0 })
  } finally {
    await other.end()
  }
})

test('the page has a strict policy', async () => {
  const { headers } = await send(gateway.url, '/campaigns/')
  expect(headers['content-security-policy']).toContain("default-src 'none'; script-src 'self';")
  expect(headers['x-frame-options']).toBe('DENY')
})

test('the operator gets the address of the shop', async () => {
  const { text } = await send(gateway.url, '/live/customers', { headers: { ...REMOTE, cookie } })
  expect(JSON.parse(text)).toMatchObject([{ customerId: 'shop', origin: 'https://shop.example' }])
})
