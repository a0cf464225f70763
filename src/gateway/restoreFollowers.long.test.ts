import { randomBytes, randomUUID } from 'node:crypto'
import { copyFileSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { prepareGateway, recordsOf, send } from '../test/gateway.ts'
import { completePayloads } from '../test/payloads.ts'
import { type Receiver, startReceiver } from '../test/receiver.ts'
import type { Gateway } from './index.ts'
import { createBackup } from './sqlite/backup/createBackup.ts'
import { restoreBackup } from './sqlite/backup/restoreBackup.ts'

/** Destinations and reports, which follow the log, after a backup of it was restored. */

const ORIGIN = 'https://shop.example'
const { utm_campaign, utm_medium, utm_source } = completePayloads.create.tracking
const CLICK = `${ORIGIN}/?${new URLSearchParams({ utm_campaign, utm_medium, utm_source })}`
/** Not a bot's: those are not forwarded. */
const BROWSER =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Safari/537.36'
const SOON = { timeout: 20_000, interval: 20 }

let prepared: Awaited<ReturnType<typeof prepareGateway>>
let receiver: Receiver
let restKey: string
let campaign: string

beforeEach(async () => {
  prepared = await prepareGateway()
  receiver = await startReceiver()
})
afterEach(async () => {
  await prepared.end()
  await receiver.close()
})

const dataDir = () => join(prepared.folder, 'data')

/** Adds the customer, a campaign, and two destinations. */
async function setUp(gateway: Gateway): Promise<void> {
  const added = gateway.customers.add({
    ...{ customerId: 'shop', trackingKey: 'SHOPKEY1', origins: [ORIGIN] },
  })
  restKey = added.restKey
  const created = await send(gateway.url, `/api/v1/campaigns/create?k=${restKey}&u=shop`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(completePayloads.create),
  })
  campaign = JSON.parse(created.text).id
  const secret = `whsec_${randomBytes(32).toString('base64')}`
  const settings = { url: receiver.url, secret }
  const webhook = await gateway.forwarding.add({ customer: 'shop', kind: 'webhook', settings })
  const file = await gateway.forwarding.add({ customer: 'shop', kind: 'file', settings: {} })
  expect([webhook, file]).toMatchObject([{ ok: true }, { ok: true }])
}

/** Sends visits of new devices. Returns the ids. */
async function visit(gateway: Gateway, count: number): Promise<string[]> {
  const ids: string[] = []
  for (let i = 0; i < count; i++) {
    const id = randomUUID()
    const payload = { event: 'view_page', did: randomUUID(), url: CLICK }
    const answer = await send(gateway.url, `/t/r?k=SHOPKEY1&id=${id}`, {
      method: 'POST',
      headers: { origin: ORIGIN, 'user-agent': BROWSER },
      body: JSON.stringify(payload),
    })
    expect(answer.status).toBe(200)
    ids.push(id)
  }
  return ids
}

const idsOf = async (gateway: Gateway) => (await recordsOf(gateway)).map(({ id }) => id)
const idsAt = (from = 0): string[] =>
  receiver.received
    .slice(from)
    .flatMap(({ body }) => JSON.parse(body).events.map(({ id }: { id: string }) => id))

/** The ids in the files of the destination. */
const idsInFiles = (): string[] =>
  (readdirSync(join(dataDir(), 'forward'), { recursive: true }) as string[])
    .filter((path) => path.includes('.ndjson'))
    .flatMap((path) =>
      gunzipSync(readFileSync(join(dataDir(), 'forward', path)))
        .toString()
        .trim()
        .split('\n'),
    )
    .map((line) => JSON.parse(line).id)

const settled = (gateway: Gateway) =>
  vi.waitFor(
    async () =>
      expect(await gateway.forwarding.list('shop')).toMatchObject([
        { lagEvents: 0 },
        { lagEvents: 0 },
      ]),
    SOON,
  )

async function visitorsOf({ url }: Gateway): Promise<number> {
  const path = `/api/v1/campaigns/${campaign}/email/get-report?k=${restKey}&u=shop`
  const { text } = await send(url, path)
  return JSON.parse(text).visitors
}

test.each([
  ['everything'],
  // As with copies that are not of the same moment.
  ['only the log'],
])(
  'after a restore of %s, destinations get each event of the log, and reports count it',
  async (what) => {
    let gateway = await prepared.start()
    await setUp(gateway)
    await visit(gateway, 4)
    await settled(gateway)
    const backup = join(prepared.folder, 'backup')
    await createBackup({ dataDir: dataDir(), folder: backup, now: Date.now })
    const lost = await visit(gateway, 3)
    await settled(gateway)
    expect(await visitorsOf(gateway)).toBe(7)
    await gateway.close()
    if (what === 'everything') await restoreBackup(backup, dataDir(), Date.now)
    else copyFileSync(join(backup, 'events.db'), join(dataDir(), 'events.db'))

    const before = receiver.received.length
    gateway = await prepared.start()
    // Their positions are those of the lost events.
    const later = await visit(gateway, 5)
    await settled(gateway)
    const ids = await idsOf(gateway)
    expect(ids.slice(-5)).toEqual(later)
    expect(ids).toHaveLength(9)
    expect(ids.filter((id) => lost.includes(id))).toEqual([])
    expect(idsAt(before).slice(-5)).toEqual(later)
    expect(new Set(idsAt())).toEqual(new Set([...ids, ...lost]))
    expect(idsInFiles().sort()).toEqual([...ids, ...lost].sort())
    expect(await visitorsOf(gateway)).toBe(9)
  },
)
