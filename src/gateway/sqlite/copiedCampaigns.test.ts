import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { makeCampaignRow } from '../../test/campaignRow.ts'
import { makeFolder } from '../../test/gateway.ts'
import type { Utm } from '../campaigns/utm.ts'
import type { LogEvent } from '../collect/eventLog.ts'
import { toCells } from './cells.ts'
import { openReportStore } from './reportStore.ts'
import { openStore, type Store } from './store.ts'

const folder = makeFolder()
afterAll(() => rmSync(folder, { recursive: true }))

const utmOf = (campaign: string): Utm => ({
  utm_campaign: campaign,
  utm_medium: 'email',
  utm_source: 'news',
})
const SPRING = utmOf('spring')
const AUTUMN = utmOf('autumn')

const makeEvent = (customer: string, did: string, utm: Utm): LogEvent => ({
  ...{ customer, did, id: randomUUID(), at: 1_000, receivedAt: 1_000, bot: false, version: null },
  ...{ operation: 'viewHomepage', event: 'view_page' },
  payload: JSON.stringify({ url: `https://shop.test/?${new URLSearchParams(utm)}` }),
})
const EVENTS = [
  makeEvent('demo', 'a', SPRING),
  makeEvent('another', 'b', SPRING),
  makeEvent('demo', 'c', AUTUMN),
  makeEvent('demo', 'd', SPRING),
]

/** The figures after these steps. The reports read the log after each of them. */
function reportsAfter(name: string, steps: readonly ((store: Store) => void)[]) {
  const eventsFile = join(folder, `${name}.db`)
  const store = openStore(eventsFile)
  const reports = openReportStore({ eventsFile, reportsFile: join(folder, `${name}-reports.db`) })
  for (const step of steps) {
    step(store)
    while (!reports.follow(1_000).isDone);
  }
  const figures = [
    ['demo', SPRING] as const,
    ['demo', AUTUMN] as const,
    ['another', SPRING] as const,
  ].map(([customer, utm]) => reports.read(customer, utm, reports.end(customer)))
  reports.close()
  store.close()
  return figures
}

const copy = (seq: number, customer: string, utm: Utm) => (store: Store) => {
  const { content: _, ...row } = makeCampaignRow(customer, utm)
  store.copyCampaigns([{ ...row, seq, contentBytes: 7 }])
}
const append = (from: number, to: number) => (store: Store) =>
  void store.append(toCells(EVENTS.slice(from, to)))
const campaigns = [copy(3, 'demo', SPRING), copy(40, 'another', SPRING), copy(41, 'demo', AUTUMN)]

test('a campaign that is copied after its events counts them all the same', () => {
  const first = reportsAfter('first', [...campaigns, append(0, 4)])
  const last = reportsAfter('last', [append(0, 2), append(2, 4), ...campaigns])
  expect(last).toEqual(first)
  expect(reportsAfter('between', [append(0, 1), ...campaigns, append(1, 4)])).toEqual(first)
  expect(first.every((figures) => figures !== undefined)).toBe(true)
  expect(new Set(first.map((figures) => JSON.stringify(figures))).size).toBeGreaterThan(1)
})

test('of copied campaigns with one id the last one is kept, and it counts once with the size of its content', () => {
  const store = openStore(join(folder, 'once.db'))
  expect(store.lastCampaign()).toBe(0)
  const row = (seq: number, id: string, createdAt: number) => {
    const { content: _, ...rest } = makeCampaignRow('demo', SPRING)
    return { ...rest, id, summary: `{"id":"${id}"}`, seq, createdAt, contentBytes: 100 }
  }
  const now = Date.UTC(2026, 0, 1)
  const day = now / 86_400_000
  const both = [row(7, 'a', now), row(12, 'b', now)]
  expect(store.copyCampaigns(both)).toEqual([
    { customer: 'demo', day, isServer: true, events: 0, bytes: 220 },
  ])
  expect(store.copyCampaigns(both)).toEqual([])
  const later = { ...row(13, 'a', now), summary: '{"id":"a","later":1}' }
  expect(store.copyCampaigns([later, row(11, 'b', now)])).toEqual([])
  expect(store.lastCampaign()).toBe(13)
  expect(store.listCampaigns('demo', { page: 1, limit: 9 })).toEqual({
    summaries: ['{"id":"a","later":1}', '{"id":"b"}'],
    total: 2,
  })
  store.close()
})
