import { rmSync } from 'node:fs'
import { type CDPSession, chromium, type Page } from '@playwright/test'
import type { KeySettings } from '../src/gateway/index.ts'
import { findBrowsers } from './browsers.mjs'
import { type FaultProxy, startFaultProxy } from './faultProxy.ts'
import { addCustomer, loadGateway, makeFolder, UNLIMITED } from './gateway.ts'
import { type Shop, startShop } from './shopServer.ts'

/** The CPU is slowed down by this factor, to the speed of a mid-range phone. */
const CPU_THROTTLE = 4

/** The setup of a measurement: the shipped script from a real gateway, in a real Chromium. */
export type BenchPages = {
  readonly shop: Shop
  readonly wire: FaultProxy
  /** A page in a new context: without cache and storage. */
  fresh(): Promise<{ page: Page; session: CDPSession; close(): Promise<void> }>
  /** The search terms of all stored events. */
  terms(): Promise<string[]>
  end(): Promise<void>
}

/** @param config Settings of the customer. Automatic page views are off by default. */
export async function startBenchPages(config: KeySettings = {}): Promise<BenchPages> {
  const folder = makeFolder('bench')
  const { startGateway } = await loadGateway()
  const gateway = await startGateway({
    dataDir: folder,
    trustedProxies: ['127.0.0.1'],
    limits: UNLIMITED,
  })
  const wire = await startFaultProxy(gateway.url)
  const { customerId, trackingKey } = addCustomer(gateway, config)
  const shop = await startShop(wire.url, trackingKey)
  const browser = await chromium.launch({ executablePath: (await findBrowsers()).chromium ?? '' })
  return {
    shop,
    wire,
    async fresh() {
      const context = await browser.newContext()
      const page = await context.newPage()
      const session = await context.newCDPSession(page)
      await session.send('Emulation.setCPUThrottlingRate', { rate: CPU_THROTTLE })
      return { page, session, close: () => context.close() }
    },
    async terms() {
      const rows = await gateway.log.read({ customer: customerId, max: 100_000 })
      return rows.map(({ payload }) => JSON.parse(payload).search_term)
    },
    async end() {
      await browser.close()
      await shop.close()
      await wire.close()
      await gateway.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[sorted.length >> 1] ?? Number.NaN
}

/** A line of a table: a name, then columns. */
export const line = (name: string, ...columns: readonly (string | number)[]): string =>
  name.padEnd(34) + columns.map((column) => `${column}`.padStart(14)).join('')
