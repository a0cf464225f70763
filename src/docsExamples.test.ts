import { readdirSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient } from './client/index.ts'
import { checkKeySettings } from './gateway/customers/keySettings.ts'
import type { Gateway } from './gateway/index.ts'
import { prepareGateway, recordsOf } from './test/gateway.ts'

const root = new URL('../', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, root), 'utf8')
const docs = readdirSync(new URL('docs/', root), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.md'))
  .map((name) => `docs/${name}`)

/** The blocks of a page in one language, without their fences. */
const blocksOf = (page: string, language: string): string[] =>
  [...read(page).matchAll(/^```(\w*)\n(.*?)^```/gms)].flatMap(([, named, block = '']) =>
    named === language ? [block] : [],
  )

const TRACKING_KEY = 'TRACKKEY1'
let prepared: Awaited<ReturnType<typeof prepareGateway>>
let gateway: Gateway
let restKey: string

beforeAll(async () => {
  prepared = await prepareGateway()
  gateway = await prepared.start()
  restKey = gateway.customers.add({ customerId: 'CUST-1', trackingKey: TRACKING_KEY }).restKey
})
afterAll(() => prepared.end())

test('the example of the client runs against a gateway', async () => {
  const [create = '', operations = ''] = blocksOf('docs/client.md', 'js')
  const env = { CUSTOMER_ID: 'CUST-1', REST_KEY: restKey, TRACKING_KEY }
  const code = [
    create.replace(/^import .*$/m, '').replace('https://gateway.example', gateway.url),
    operations,
    'return { id, data, total, visitors, funnel, latest, oneBefore, script, integrity }',
  ].join('\n')
  const AsyncFunction = (async () => {}).constructor as FunctionConstructor
  const run = new AsyncFunction('createClient', 'process', code)
  const answered = await run(createClient, { env })

  expect(answered).toMatchObject({
    data: [{ id: answered.id }],
    total: 1,
    visitors: 0,
    funnel: { view_product: 0 },
    latest: { id: answered.id },
    oneBefore: undefined,
    script: expect.stringContaining(TRACKING_KEY),
    integrity: expect.stringMatching(/^sha384-/),
  })
  expect((await recordsOf(gateway)).map(({ event }) => event)).toEqual([
    'view_homepage',
    'view_product',
    'search',
    'add_to_cart',
    'remove_from_cart',
    'add_to_wishlist',
    'remove_from_wishlist',
    'initiate_checkout',
    'set_email',
    'quiz_done',
    'quiz_done',
    'save_order',
    'update_order_status',
    'add_subscriber',
    'remove_subscriber',
  ])
})

const commands = blocksOf('docs/http.md', '').flatMap(
  (block) => block.match(/^curl (?:\\\n|.)+/gm) ?? [],
)

test('there are commands', () => expect(commands).toHaveLength(8))

test.each(commands.map((command) => [command.split('?', 1)[0], command] as const))(
  '%s',
  async (_name, command) => {
    const [, address = ''] = /"(https:[^"]+)"/.exec(command) ?? []
    // The type that curl gives a body.
    const form = 'application/x-www-form-urlencoded'
    const [, type = form] = /-H 'content-type: ([^']+)'/.exec(command) ?? []
    const [, given] = /-d '([^']+)'/.exec(command) ?? []
    const complete = (text: string) =>
      text
        .replace('https://gateway.example', gateway.url)
        .replace('TRACKINGKEY', TRACKING_KEY)
        .replace('RESTKEY', restKey)
        .replace('u=ID', 'u=CUST-1')
    const [url, body] = [complete(address), given && complete(given)]
    const post = body && { method: 'POST', headers: { 'content-type': type }, body }
    const answer = await fetch(url, post || {})
    expect([answer.status, await answer.json()]).toEqual([200, expect.any(Object)])
  },
)

const configs = docs.flatMap((page) =>
  [...read(page).matchAll(/--config '([^']+)'/g)].map(([, config = '']) => [page, config]),
)

test('there are settings', () => expect(configs.length).toBeGreaterThan(2))

test.each(configs)('%s: --config %s', (_page, config = '') => {
  const settings = JSON.parse(config)
  expect(checkKeySettings(settings)).toEqual({ ok: true, settings })
})
