import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdirSync, rmSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { layOutGateway, send, startProcess } from '../../test/gateway.ts'
import { toCells } from '../sqlite/cells.ts'
import { createSqliteCustomers } from '../sqlite/customers.ts'
import { openStore } from '../sqlite/store.ts'

/** The memory that live views take, measured on the process. */
let folder: string

beforeAll(async () => {
  folder = layOutGateway()
})
afterAll(() => rmSync(folder, { recursive: true }))

const CUSTOMERS = Array.from({ length: 10 }, (_, i) => `shop-${i}`)
/** Of each customer, bytes: a new view begins with 200 events that are shown whole, three megabytes. */
const SIZES = [...Array(20).fill(130_000), ...Array(200).fill(15_500)]

function fill(dataDir: string): ReadonlyMap<string, string> {
  mkdirSync(dataDir, { recursive: true })
  const customers = createSqliteCustomers(join(dataDir, 'customers.db'))
  const store = openStore(join(dataDir, 'events.db'))
  const keys = CUSTOMERS.map((customer) => {
    store.append(
      toCells(
        SIZES.map((size) => ({
          customer,
          id: randomUUID(),
          at: 1,
          receivedAt: 2,
          operation: 'search',
          event: 'search',
          did: null,
          bot: false,
          version: null,
          payload: JSON.stringify({ search_term: 'x'.repeat(size) }),
        })),
      ),
    )
    return [customer, customers.add({ customerId: customer }).restKey] as const
  })
  store.close()
  customers.close()
  return new Map(keys)
}

test('100 views that do not read take less than 100 MB', async () => {
  const dataDir = join(folder, 'data')
  const keys = fill(dataDir)
  const gateway = await startProcess(folder, { DATA_DIR: dataDir, LOG_LEVEL: 'warn' })
  const { hostname, port } = new URL(gateway.url)
  const rss = () =>
    Number(execFileSync('ps', ['-o', 'rss=', '-p', `${gateway.process.pid}`])) * 1_024
  const cookies = new Map<string, string>()
  for (const [customerId, restKey] of keys) {
    const { headers } = await send(gateway.url, '/live/login', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ customerId, restKey }),
    })
    cookies.set(customerId, headers['set-cookie']?.[0]?.split(';')[0] ?? '')
  }
  const open = async (customerId: string, lastEventId: number) => {
    const headers = { cookie: cookies.get(customerId), 'last-event-id': `${lastEventId}` }
    const path = `/live/events?customer=${customerId}`
    const request = get({ hostname, port, path, headers, agent: false })
    request.on('error', () => {})
    return new Promise<IncomingMessage>((resolve) => request.on('response', resolve))
  }

  // The first work lets a process grow in any case, so one view reads everything before the measurement.
  for (const customerId of CUSTOMERS) {
    let events = 0
    let rest = ''
    for await (const chunk of await open(customerId, 1)) {
      const messages = (rest + chunk).split('event: event\n')
      rest = messages.at(-1)?.slice(-12) ?? ''
      events += messages.length - 1
      if (events >= SIZES.length - 1) break
    }
  }
  const before = rss()
  const views = await Promise.all(
    CUSTOMERS.flatMap((customerId) =>
      Array.from({ length: 10 }, (_, i) => open(customerId, i % 2)),
    ),
  )
  expect(views.map(({ statusCode }) => statusCode)).toEqual(Array(100).fill(200))
  // The views have got all they can once the process has not grown for a while.
  let most = before
  for (let quiet = 0; quiet < 10; quiet++) {
    await new Promise((resolve) => setTimeout(resolve, 100))
    const now = rss()
    if (now > most) quiet = 0
    most = Math.max(most, now)
  }
  expect((most - before) / 2 ** 20).toBeLessThan(100)
  for (const view of views) view.destroy()
  await gateway.end('SIGKILL')
}, 120_000)
