import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Problem, ProblemList } from '../contract/problems.ts'
import { prepareGateway, send } from '../test/gateway.ts'
import type { Gateway, GatewayOptions } from './index.ts'

/** The problems of a customer, over real sockets: what is counted, and what the two addresses answer. */

const ORIGIN = 'https://shop.example'
const DAY_MS = 86_400_000
const NOON = 20_000 * DAY_MS + DAY_MS / 2
const LINE = {
  did: 'd-1',
  event: 'add_to_cart',
  url: 'https://shop.example/p/mug?utm_source=x',
  http_user_agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
  product_id: 12,
  quantity: 1,
  variation: { id: '12-1', sku: 'MUG-BLUE' },
}

let prepared: Awaited<ReturnType<typeof prepareGateway>>
let clock: number
let errors: unknown[]

beforeEach(async () => {
  prepared = await prepareGateway()
  clock = NOON
  errors = []
})
afterEach(() => prepared.end())

const start = (options: Partial<GatewayOptions> = {}) =>
  prepared.start({ now: () => clock, onError: (error) => void errors.push(error), ...options })

function addShop({ customers }: Gateway) {
  const { restKey } = customers.add({
    customerId: 'shop',
    trackingKey: 'SHOPKEY1',
    origins: [ORIGIN],
  })
  return restKey
}

type Sending = { readonly url: string }
const post = (
  { url }: Sending,
  payload: unknown = LINE,
  query = 'k=SHOPKEY1',
  headers: Record<string, string> = { origin: ORIGIN },
) => send(url, `/t/r?${query}`, { method: 'POST', headers, body: JSON.stringify(payload) })

/** The list, once it is as expected: an answer is used again for half a second. */
async function listOf({ url }: Sending, restKey: string): Promise<ProblemList> {
  const { status, text } = await send(url, `/api/v1/problems?k=${restKey}&u=shop`)
  expect(status).toBe(200)
  return JSON.parse(text)
}
const until = (gateway: Sending, restKey: string, check: (list: ProblemList) => void) =>
  vi.waitFor(async () => check(await listOf(gateway, restKey)), 5_000)

const brief = ({ reason, source, operation, path, page, count }: Problem) =>
  [reason, source, operation ?? '', path ?? '', page, count].join(' ')

test('every refusal is counted by its fault, with the page and the fix', async () => {
  const gateway = await start()
  const restKey = addShop(gateway)
  const { variation: _, ...broken } = LINE
  for (let i = 0; i < 3; i++)
    expect((await post(gateway, { ...LINE, variation: { id: '12-1', sku: '' } })).status).toBe(422)
  expect((await post(gateway, broken)).status).toBe(422)
  const events = [
    { id: randomUUID(), payload: { ...LINE, quantity: '2' } },
    { id: 'x', payload: LINE },
  ]
  await send(gateway.url, '/t/batch?k=SHOPKEY1', {
    method: 'POST',
    headers: { origin: ORIGIN },
    body: JSON.stringify({ events }),
  })
  expect((await post(gateway, LINE, 'k=SHOPKEY1', { origin: 'https://new.example' })).status).toBe(
    403,
  )
  expect((await post(gateway, LINE, 'k=SHOPKEY1', {})).status).toBe(401)
  expect((await post(gateway, LINE, 'k=SHOPKEY1&api_key=wrong')).status).toBe(401)
  expect((await send(gateway.url, '/api/v1/problems?k=wrong&u=shop')).status).toBe(401)
  expect((await post(gateway, { ...LINE, url: 'x'.repeat(140_000) })).status).toBe(413)
  const referer = { referer: `${ORIGIN}/` }
  expect((await send(gateway.url, '/t/j/OLDKEY12', { headers: referer })).status).toBe(404)
  expect((await post(gateway, LINE, 'k=OLDKEY12')).status).toBe(404)
  expect((await post(gateway, LINE, 'k=OLDKEY12', { origin: 'https://else.example' })).status).toBe(
    404,
  )
  const api = await send(gateway.url, `/api/v1/custom_events?k=${restKey}&u=shop`, {
    method: 'POST',
    body: JSON.stringify({ event: 'quiz', email: 'nobody' }),
  })
  expect(api.status).toBe(422)

  await until(gateway, restKey, ({ data }) =>
    expect(data.map(brief).sort()).toEqual([
      'origin gateway   https://new.example 1',
      'refused gateway   id /t/batch 1'.replace('   ', '  '),
      'refused gateway addToCart quantity /p/mug 1',
      'refused gateway addToCart variation /p/mug 1',
      'refused gateway addToCart variation.sku /p/mug 3',
      'refused gateway sendCustomApi email /api/v1/custom_events 1',
      'too_large gateway   /t/r 1',
      'unknown_key gateway  OLDKEY12 https://shop.example 2',
      'wrong_key gateway  api_key /t/r 1',
      'wrong_key gateway  k /api/v1/problems 1',
      'wrong_key gateway  origin /t/r 1',
    ]),
  )
  const { data } = await listOf(gateway, restKey)
  const sku = data.find(({ path }) => path === 'variation.sku') as Problem
  expect(sku.example).toEqual({
    did: 'text of 3 characters',
    event: 'add_to_cart',
    url: 'text of 39 characters',
    http_user_agent: 'text of 70 characters',
    remote_addr: 'text of 9 characters',
    product_id: 12,
    quantity: 1,
    variation: { id: '12-1', sku: 'empty text' },
  })
  expect(sku.fix).toContain('data-track-variation-sku')
  expect(data.find(({ reason }) => reason === 'origin')?.fix).toContain(
    'npx shoptrail customer set shop --origin https://shop.example --origin https://new.example',
  )
  expect(sku.days).toHaveLength(30)
  expect(sku.days.at(-1)).toBe(3)
  expect(errors).toEqual([])
})
