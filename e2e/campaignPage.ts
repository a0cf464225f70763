import { rmSync } from 'node:fs'
import type { Locator, Page } from '@playwright/test'
import type { Gateway } from '../src/gateway/index.ts'
import { test as base, expect } from './fixtures.ts'
import { loadGateway, makeFolder } from './gateway.ts'

/*
 * The campaigns page on a gateway with the demo. `watch` fails a test on any error in the console, so also on a
 * violation of the page's Content-Security-Policy.
 */

export const test = base.extend<object, { demo: Gateway }>({
  demo: [
    async ({ browserName }, use) => {
      const folder = makeFolder(`demo-${browserName}`)
      const gateway = await (await loadGateway()).startGateway({ dataDir: folder, demo: true })
      await use(gateway)
      await gateway.close()
      rmSync(folder, { recursive: true, force: true })
    },
    { scope: 'worker' },
  ],
})

export const campaign = (name: string, type: 'email' | 'sms' | 'push' = 'email') => ({
  type,
  mode: 'regular' as const,
  sender: { name: 'Ann', sender: 'ann@shop.example', reply_to: 'ann@shop.example' },
  audience: { audience_type: 'all' as const, smart_sending: false },
  subject: { name, subject_line: `${name}, now`, preview_text: 'Look' },
  content: { html: '<p>Hello</p>' },
  scheduling: {
    send_at: '2026-12-01 09:00',
    use_optimal_time: 0 as const,
    optimize_for: 'buying' as const,
  },
  tracking: { utm_campaign: 'mugs', utm_medium: 'email', utm_source: 'letter' },
})

/** Adds a customer with campaigns, directly in the store. */
export async function addShop(
  { customers, campaigns }: Gateway,
  name: string,
  names: string[] = [],
) {
  const { customer, restKey } = customers.add({ name, origins: ['https://shop.example'] })
  const { customerId } = customer
  for (const [index, one] of names.entries())
    await campaigns.create(customerId, {
      ...campaign(one, one.includes('SMS') ? 'sms' : 'email'),
      id: `${customerId}-${index}`,
      status: 'scheduled',
      created_at: new Date(Date.now() + index).toISOString(),
    })
  return { customerId, restKey, name }
}

export async function signIn(
  page: Page,
  { url }: Gateway,
  shop: { customerId: string; restKey: string },
) {
  await page.goto(`${url}/campaigns/`)
  await page.getByTestId('sign-in').click()
  await page.getByLabel(/Customer ID/).fill(shop.customerId)
  await page.getByLabel('REST key').fill(shop.restKey)
  await page.getByTestId('login-submit').click()
  await expect(page.getByTestId('customer')).toHaveValue(shop.customerId)
}

export const names = (page: Page) => page.getByTestId('open-campaign').allTextContents()

/** Hides the page or shows it again, as if the operator changed tabs. */
export const setHidden = (page: Page, hidden: boolean) =>
  page.evaluate((value) => {
    Object.defineProperty(document, 'hidden', { configurable: true, value })
    document.dispatchEvent(new Event('visibilitychange'))
  }, hidden)

/**
 * From now on, timers of a second or more do not fire by themselves. (Playwright's own clock adds a script to every
 * frame, which the preview's sandbox reports as an error.)
 *
 * @returns A function that fires the timers set so far.
 */
export async function holdTimers(page: Page): Promise<() => Promise<void>> {
  const held = await page.evaluateHandle(() => {
    const waiting: (() => void)[] = []
    const real = globalThis.setTimeout.bind(globalThis) as (act: () => void, ms?: number) => number
    const hold = (act: () => void, ms = 0) => (ms < 1_000 ? real(act, ms) : -waiting.push(act))
    Object.assign(globalThis, { setTimeout: hold })
    return waiting
  })
  return () =>
    held.evaluate((waiting) => {
      for (const act of waiting.splice(0)) act()
    })
}

/** Fills in the fields that a campaign needs, except its name. */
export async function fillRest(page: Page) {
  for (const [path, value] of Object.entries({
    'subject.subject_line': 'Now',
    'subject.preview_text': 'Look',
    'sender.name': 'Kiln',
    'sender.sender': 'letters@kiln.example',
    'content.html': '<p>Hello</p>',
  }))
    await page.getByTestId(path).fill(value)
}

/** Opens an empty form. The customer must be signed in. */
export async function openForm(
  page: Page,
  { url }: Gateway,
  { customerId }: { customerId: string },
) {
  await page.goto(`${url}/campaigns/?customer=${customerId}&new=`)
  await page.getByTestId('campaign-form').waitFor()
}

/** Expects that a page does not scroll sideways, once its scripts have drawn it for the width of the window. */
export async function expectNoSidewaysScroll(page: Page): Promise<void> {
  const sideways = () =>
    page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
  await expect.poll(sideways).toBe(0)
}

/** Expects that the text of an element begins next to the element's icon, not far right of it or in another line. */
export async function expectIconNextToText(element: Locator): Promise<void> {
  const distance = await element.evaluate((parent) => {
    const text = document.createTreeWalker(parent, NodeFilter.SHOW_TEXT).nextNode() as Text
    const range = document.createRange()
    range.selectNodeContents(text)
    const line = range.getClientRects()[0] as DOMRect
    const icon = (parent.querySelector('svg') as SVGElement).getBoundingClientRect()
    return { x: line.left - icon.right, y: line.top + line.height / 2 - icon.top - icon.height / 2 }
  })
  // Icons have a margin of 7 to 9 px, and a line is about 20 px high.
  expect(distance.x).toBeGreaterThan(4)
  expect(distance.x).toBeLessThan(14)
  expect(Math.abs(distance.y)).toBeLessThan(6)
}
