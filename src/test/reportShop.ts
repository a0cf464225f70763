import { randomUUID } from 'node:crypto'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { ReportFigures } from '../gateway/campaigns/report.ts'
import { DEFAULT_VIEW, type ReportView } from '../gateway/campaigns/reportView.ts'
import type { Utm } from '../gateway/campaigns/utm.ts'
import type { LogEvent } from '../gateway/collect/eventLog.ts'
import { toCells } from '../gateway/sqlite/cells.ts'
import { hashOfUtm } from '../gateway/sqlite/reportNumbers.ts'
import { openReportStore } from '../gateway/sqlite/reportStore.ts'
import { openStore } from '../gateway/sqlite/store.ts'
import { makeCampaignRow } from './campaignRow.ts'

/** Visitors and orders of one shop, and the reports of its campaigns. For tests. */
export const HOUR = 3_600_000
export const DAY = 24 * HOUR
export const WEEK = 7 * DAY
export const MONDAY = Date.UTC(2026, 9, 19)
export const SPRING: Utm = { utm_campaign: 'spring', utm_medium: 'email', utm_source: 'news' }
export const AUTUMN: Utm = { utm_campaign: 'autumn', utm_medium: 'email', utm_source: 'news' }
/** Visits of no campaign of the customer. */
export const SEARCH: Utm = { utm_campaign: '', utm_medium: 'cpc', utm_source: 'search' }
export const ANA = 'ana@shop.test'

export type Given = Partial<Omit<LogEvent, 'payload' | 'at'>> & {
  /** Ms after Monday. */
  readonly at?: number
  readonly utm?: Utm | undefined
  readonly payload?: object
}

export function makeEvent({ at = 0, utm, payload, ...given }: Given): LogEvent {
  const url = `https://shop.test/?${new URLSearchParams(utm ?? {})}`
  return {
    customer: 'demo',
    id: randomUUID(),
    at: MONDAY + at,
    receivedAt: MONDAY + at,
    operation: 'viewHomepage',
    event: 'view_page',
    did: 'd-1',
    bot: false,
    version: null,
    payload: JSON.stringify({ url, ...payload }),
    ...given,
  }
}

export const visit = (at: number, utm = SPRING, given: Given = {}) =>
  makeEvent({ at, utm, ...given })

export const gives = (at: number, email = ANA, given: Given = {}) =>
  makeEvent({
    ...{ at, operation: 'setEmail', event: 'set_email', payload: { email_address: email } },
    ...given,
  })

/** @param total Minor units. */
export const order = (
  at: number,
  {
    number = '1',
    email = ANA,
    total = 1000,
    currency = 'EUR',
    ...given
  }: Given & { number?: string; email?: string; total?: number; currency?: string } = {},
) =>
  makeEvent({
    ...{ at, operation: 'saveOrder', event: 'save_order', did: null },
    payload: { number, email_address: email, currency, minor: { total_value: total } },
    ...given,
  })

export const status = (at: number, text: string, number = '1') =>
  makeEvent({
    ...{ at, operation: 'updateOrderStatus', event: 'update_order_status', did: null },
    payload: { order_number: number, order_status: text },
  })

/** A log with campaigns, and its reports. */
export function openReportShop(folder: string) {
  const own = join(folder, randomUUID())
  mkdirSync(own)
  const files = { eventsFile: join(own, 'events.db'), reportsFile: join(own, 'reports.db') }
  const store = openStore(files.eventsFile)
  for (const utm of [SPRING, AUTUMN]) store.createCampaign(makeCampaignRow('demo', utm))
  let reports = openReportStore(files)
  const follow = (slice = 1_000) => {
    while (!reports.follow(slice).isDone);
  }
  return {
    ...files,
    store,
    follow,
    reports: () => reports,
    append: (events: readonly LogEvent[]) => store.append(toCells(events)),
    read(utm: Utm = SPRING, view: ReportView = DEFAULT_VIEW): ReportFigures {
      follow()
      for (;;) {
        const figures = reports.read('demo', utm, reports.end('demo'), view)
        if (figures) return figures
      }
    },
    /** What a gateway does once a day. */
    sweep(until: number, timeZone = 'UTC'): void {
      follow()
      const plan = reports.planClosing('demo', timeZone)
      if (plan.since < until)
        store.closeFigures({
          ...{ customer: 'demo', since: plan.since, until },
          figures: plan.blocks.map((block) => ({
            utm: hashOfUtm('demo', block.utm, block.isBot),
            part: reports.closeBlock(plan, block, until),
          })),
        })
      const { upTo } = store.findExpired('demo', until, Number.MAX_SAFE_INTEGER)
      if (upTo !== undefined) while (!store.removeExpired('demo', upTo).isDone);
      while (reports.forgetClosed() || reports.forgetSwept());
    },
    reopen(): void {
      reports.close()
      reports = openReportStore(files)
    },
    rebuild(): void {
      reports.close()
      for (const end of ['', '-wal', '-shm']) rmSync(files.reportsFile + end, { force: true })
      reports = openReportStore(files)
    },
    end(): void {
      reports.close()
      store.close()
    },
  }
}
