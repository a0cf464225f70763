import { readFileSync } from 'node:fs'
import type { Page } from '@playwright/test'
import type { KeySettings } from '../../src/gateway/index.ts'
import { test as base, type Expected, expect, type Row, type TestCustomer } from '../fixtures.ts'
import type { Shop } from '../shopServer.ts'

type GuideFixtures = {
  /**
   * Waits until exactly these events have been stored since the last call. Their order counts only from call to call:
   * what a page reports when it loads has no order, since the script may load before or after it.
   */
  arrive: (...next: readonly Expected[]) => Promise<void>
  /** The same for another customer. It begins anew. */
  arriveAt: (customer: TestCustomer) => GuideFixtures['arrive']
}

/** Guides leave page views on, as customers do, and their pages deliver at once: delivery is tested elsewhere. */
export const test = base.extend<GuideFixtures>({
  config: { pageViews: 'all' },
  wire: async ({ wire }, use) => {
    wire.delayMs = 0
    await use(wire)
  },
  arriveAt: async ({ stored }, use) => {
    await use((customer) => {
      const known = new Set<string>()
      return async (...next) => {
        let rows: Row[] = []
        await expect
          .poll(async () => {
            rows = (await stored(customer)).filter(({ id }) => !known.has(id))
            return compare(rows, next)
          })
          .toEqual({ missing: [], unexpected: [] })
        for (const { id } of rows) known.add(id)
      }
    })
  },
  arrive: async ({ arriveAt, customer }, use) => {
    await use(arriveAt(customer))
  },
})

export { expect }

/** Which events are missing, and which ones nobody expects. */
function compare(rows: readonly Row[], expected: readonly Expected[]) {
  const unexpected = [...rows]
  const missing = expected.filter((one) => {
    const at = unexpected.findIndex((row) => matches(row, one))
    if (at >= 0) unexpected.splice(at, 1)
    return at < 0
  })
  return {
    missing,
    unexpected: unexpected.map(({ event, did, payload }) => ({ event, did, payload })),
  }
}

/** Whether a value has the expected fields. */
function matches(value: unknown, expected: unknown): boolean {
  if (!expected || typeof expected !== 'object') return value === expected
  return Object.entries(expected).every(([name, inner]) =>
    matches((value as { readonly [name: string]: unknown } | undefined)?.[name], inner),
  )
}

/** The addresses that the guides use for the reader's own. */
const SCRIPT = 'https://gateway.example/t/j/YOURKEY'
const GATEWAY = 'https://gateway.example'
const SHOP = 'https://shop.example'

/** A code block of a guide, for a shop if one is given: with the addresses of its script, its gateway and itself. */
export type Block = (name: string, shop?: Shop) => string

/**
 * Reads a page of docs/guides. Each of its code blocks has a name, which follows the language in its fence. The tests of
 * a guide run the blocks as they are in the page, so that the page is right; src/guides.test.ts checks that they use
 * each of them.
 *
 * @param page Name of the file, without `.md`.
 */
export function readGuide(page: string): Block {
  const text = readFileSync(new URL(`../../docs/guides/${page}.md`, import.meta.url), 'utf8')
  return (name, shop) => {
    const block = new RegExp(`^\`\`\`\\w+ ${name}\n(.*?)^\`\`\``, 'ms').exec(text)?.[1]
    if (block === undefined) throw new Error(`docs/guides/${page}.md has no block "${name}"`)
    if (!shop) return block
    return block
      .replaceAll(SCRIPT, shop.script())
      .replaceAll(GATEWAY, new URL(shop.script()).origin)
      .replaceAll(SHOP, shop.url)
  }
}

/** The settings that a block's command gives to a key. */
export function settingsOf(block: string): KeySettings {
  const [, config] = /--config '(.+)'/.exec(block) ?? []
  if (config === undefined) throw new Error(`no --config in: ${block}`)
  return JSON.parse(config)
}

/** The event of an automatic page view. */
export const viewOf = (shop: Shop, path: string) => ({
  event: 'view_page',
  payload: { url: shop.url + path },
})

/** Clicks something that leads to another page, and waits until that page has loaded. */
export async function follow(page: Page, selector: string, path: string): Promise<void> {
  await page.click(selector)
  await page.waitForURL(({ pathname, search }) => pathname + search === path, { timeout: 20_000 })
}

/** A search that a test makes to show that nothing else was sent before. */
export const END = { event: 'search', payload: { search_term: 'end' } }

/** A line of a cart or a wishlist. */
export const line = (
  event: string,
  product_id: number,
  quantity = 1,
  id = `${product_id}`,
  sku = id,
) => ({ event, payload: { product_id, quantity, variation: { id, sku } } })

export const viewProduct = (id: number | string) => ({
  event: 'view_product',
  payload: { product_id: `${id}` },
})
