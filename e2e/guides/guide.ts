import { readFileSync } from 'node:fs'
import type { Page } from '@playwright/test'
import type { KeySettings } from '../../src/gateway/index.ts'
import { test as base, type Expected, expect, type TestCustomer } from '../fixtures.ts'
import type { Shop } from '../shopServer.ts'

type GuideFixtures = {
  /** Waits until exactly these events have been stored since the last call, in this order. */
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
  arriveAt: async ({ expectStored }, use) => {
    await use((customer) => {
      const all: Expected[] = []
      return async (...next) => {
        all.push(...next)
        await expectStored(all, { customer })
      }
    })
  },
  arrive: async ({ arriveAt, customer }, use) => {
    await use(arriveAt(customer))
  },
})

export { expect }

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
