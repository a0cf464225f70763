import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { get } from 'node:http'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { prepareGateway, recordsOf, send, startProcess } from '../test/gateway.ts'
import { runCommandLine } from './cli.ts'
import type { Gateway, GatewayOptions } from './index.ts'

/** What a whole gateway keeps of a visitor: in all files of its folder, in its answers, its log and its live view. */

const ORIGIN = 'https://shop.example'
const DAY_MS = 86_400_000
const NOON = 20_000 * DAY_MS + DAY_MS / 2
/** The address of the sender, one that no other text contains. */
const PEER = '127.77.88.99'
const PAYLOAD = { event: 'view_homepage', url: 'https://shop.example/' }

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

const post = (
  { url }: { readonly url: string },
  payload: object = PAYLOAD,
  query = '',
  headers: Record<string, string> = {},
) =>
  send(url, `/t/r?k=SHOPKEY1&id=${randomUUID()}${query}`, {
    method: 'POST',
    headers: { origin: ORIGIN, 'user-agent': 'Mozilla/5.0', ...headers },
    body: JSON.stringify(payload),
    peer: PEER,
  })

const addShop = ({ customers }: Gateway, change: Parameters<Gateway['customers']['add']>[0] = {}) =>
  customers.add({ customerId: 'shop', trackingKey: 'SHOPKEY1', origins: [ORIGIN], ...change })

const dataFolder = () => join(prepared.folder, 'data')

/** The files of the data folder that contain these bytes: databases, each -wal and each -shm. */
const filesWith = (bytes: Buffer): string[] =>
  readdirSync(dataFolder()).filter((name) => readFileSync(join(dataFolder(), name)).includes(bytes))

function readSalt(): Buffer {
  const database = new Database(join(dataFolder(), 'salt.db'), { readonly: true })
  try {
    return database.prepare<[], Buffer>('SELECT salt FROM day_salt').pluck().get() as Buffer
  } finally {
    database.close()
  }
}

const didsOf = async (gateway: Gateway) => (await recordsOf(gateway)).map(({ did }) => did)

test('a day has one hash for a visitor, also after a restart; the next day another, and no file has the old salt', async () => {
  const first = await start()
  addShop(first, { config: { consent: 'cookieless' } })
  expect((await post(first)).status).toBe(200)
  const second = await start()
  expect((await post(second)).status).toBe(200)
  await first.close()
  await second.close()
  const third = await start()
  clock += DAY_MS / 2 - 1
  expect((await post(third)).status).toBe(200)
  const [did] = await didsOf(third)
  expect(await didsOf(third)).toEqual([did, did, did])
  const salt = readSalt()
  expect(filesWith(salt)).toEqual(['salt.db'])

  // One millisecond later it is another day, for an event of before midnight too.
  clock += 1
  expect((await post(third, PAYLOAD, `&at=${clock - 1}&sent=${clock}`)).status).toBe(200)
  const dids = await didsOf(third)
  expect(dids).toHaveLength(4)
  expect(dids[3]).not.toBe(did)
  expect(filesWith(salt)).toEqual([])
  expect(filesWith(readSalt())).toEqual(['salt.db'])
  expect(errors).toEqual([])
})

test('the log says which events have no consent', async () => {
  const gateway = await start()
  addShop(gateway, { config: { consent: 'cookieless' } })
  expect((await post(gateway)).status).toBe(200)
  expect((await post(gateway, { ...PAYLOAD, did: 'd-1' })).status).toBe(200)
  expect((await post(gateway, { ...PAYLOAD, did: 'd-1' }, '&consent=denied')).status).toBe(200)
  const database = new Database(join(dataFolder(), 'events.db'), { readonly: true })
  const cookieless = database.prepare('SELECT cookieless FROM events ORDER BY seq').pluck().all()
  database.close()
  expect(cookieless).toEqual([1, 0, 1])
})

test('a gateway whose salt can not be stored answers 503 to what needs it, and stores the rest', async () => {
  const gateway = await start()
  addShop(gateway, { config: { consent: 'cookieless' } })
  const other = new Database(join(dataFolder(), 'salt.db'))
  other.exec('CREATE TABLE notes (text TEXT)')
  other.close()
  const refused = await post(gateway)
  expect([refused.status, refused.headers['retry-after']]).toEqual([503, '5'])
  expect(JSON.parse(refused.text).message).toBe('The salt of the day can not be read or stored')
  expect((await post(gateway, { ...PAYLOAD, did: 'd-1' })).status).toBe(200)
  const [error] = errors as { cause: Error }[]
  expect(error?.cause.message).toContain('salt.db is a database of another application')
  rmSync(join(dataFolder(), 'salt.db'))
  clock += 1_000
  expect((await post(gateway)).status).toBe(200)
})

test.each([
  ['whole', true, PEER],
  ['short', true, '127.77.88.0'],
  ['none', true, '0.0.0.0'],
  ['whole', false, '127.77.88.0'],
] as const)(
  'with addresses %s, consent %j, only %s is in a file, a live message or a metric',
  async (addresses, hasConsent, kept) => {
    const gateway = await start({ metricsPort: 0 })
    const { restKey } = addShop(gateway, { addresses, config: { consent: 'cookieless' } })
    const url = 'https://jane:secretword@shop.example/?token=hiddenvalue&to=jane%40mail.example'
    const sent = { ...PAYLOAD, url, ...(hasConsent && { did: 'd-1' }) }
    expect((await post(gateway, sent)).status).toBe(200)
    // What is refused, or asked, leaves nothing either.
    expect((await post(gateway, { ...sent, event: '' })).status).toBe(422)
    expect((await post(gateway, sent, '&api_key=wrong')).status).toBe(401)

    const login = await send(gateway.url, '/live/login', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ customerId: 'shop', restKey }),
    })
    const cookie = login.headers['set-cookie']?.[0]?.split(';')[0] ?? ''
    const live = await readLive(`${gateway.url}/live/events?customer=shop`, cookie)
    expect(JSON.parse(live).payload.remote_addr).toBe(kept)
    const { text: metrics } = await send(gateway.metricsUrl ?? '', '/metrics')
    expect(metrics).toContain('events_total')
    for (const text of [PEER, 'secretword', 'hiddenvalue', 'mail.example']) {
      if (text === kept) continue
      expect([text, ...filesWith(Buffer.from(text))]).toEqual([text])
      expect(live + metrics).not.toContain(text)
    }
    expect(filesWith(Buffer.from(kept))).not.toEqual([])
    expect(errors).toEqual([])
  },
)

/** The data of the first live message. */
const readLive = (url: string, cookie: string): Promise<string> =>
  new Promise((resolve, reject) => {
    let text = ''
    const request = get(url, { agent: false, headers: { cookie } }, (response) => {
      response.on('data', (chunk) => {
        text += chunk
        const found = /^event: event\n.*\ndata: (.*)\n\n/m.exec(text)?.[1]
        if (!found) return
        resolve(found)
        request.destroy()
      })
      response.once('close', () => reject(new Error(`The live view ended: ${text}`)))
    })
    request.once('error', reject)
  })

test('two processes over one folder have one salt, and neither prints it or a whole address', async () => {
  const env = { DATA_DIR: dataFolder(), LOG_LEVEL: 'trace' }
  const run = (...args: string[]) => runCommandLine(args, env)
  const both = [await startProcess(prepared.folder, env), await startProcess(prepared.folder, env)]
  const added = run(
    ...['customer', 'add', '--origin', ORIGIN, '--tracking-key', 'SHOPKEY1'],
    ...['--addresses', 'short', '--config', '{"consent":"cookieless"}'],
  )
  expect(added).toMatchObject({ code: 0 })
  await vi.waitFor(async () => {
    for (const process of both) expect((await post(process)).status).toBe(200)
  }, 10_000)
  const salt = readSalt()
  for (const process of both) expect(await process.end('SIGTERM')).toBe(0)
  const gateway = await start({ now: Date.now })
  const dids = await didsOf(gateway)
  expect(dids.length).toBeGreaterThanOrEqual(2)
  expect(new Set(dids).size).toBe(1)
  const printed = both.map((process) => process.output()).join()
  for (const text of [PEER, salt.toString('hex'), salt.toString('base64'), salt.toString('latin1')])
    expect(printed).not.toContain(text)
})
