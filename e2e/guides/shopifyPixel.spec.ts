import type { Page } from '@playwright/test'
import type { KeySettings } from '../../src/gateway/index.ts'
import type { TestCustomer } from '../fixtures.ts'
import type { Shop } from '../shopServer.ts'
import { bundle } from './bundle.ts'
import { expect, line, readGuide, test, viewProduct } from './guide.ts'

const block = readGuide('shopify-pixel')

/*
 * Shopify's two sandboxes: a frame with allow-scripts and allow-forms, whose origin is opaque, for custom pixels; a worker
 * in such a frame for pixels of apps. The page publishes events to them by messages, and answers what they ask of its
 * storage.
 */

const RECEIVE = `
  const callbacks = {}, asked = []
  const analytics = { subscribe(name, callback) { (callbacks[name] ??= []).push(callback) } }
  const ask = (name) => new Promise((answer) => { asked.push(answer); post({ get: name }) })
  const browser = { localStorage: { getItem: ask } }
  addEventListener('message', ({ data: { event, value } }) => {
    if (!event) return asked.shift()(value)
    for (const callback of callbacks[event.name] ?? []) callback(event)
  })`

/** The shop's page: it publishes events to the frame. */
const SHOP_PAGE = `<iframe sandbox="allow-scripts allow-forms" src="/sandbox"></iframe><script>
  const frame = document.querySelector('iframe')
  addEventListener('message', ({ data }) => {
    if (data === 'ready') window.isReady = true
    else frame.contentWindow.postMessage({ value: localStorage.getItem(data.get) }, '*')
  })
  publish = (name, data) => frame.contentWindow.postMessage({ event: {
    name, data, id: 'sh-1', clientId: 'client-0001', timestamp: new Date().toISOString(),
    context: { document: { location: { href: location.href } } },
  } }, '*')
</script>`

const frameOf = (code: string) =>
  `<script>const post = (data) => parent.postMessage(data, '*');${RECEIVE}</script>
   <script>${code};post('ready')</script>`

/** A worker in the sandboxed frame, which passes messages on. */
const workerOf = (code: string) => `<script>
  const code = ${JSON.stringify(code).replaceAll('<', '\\u003C')}
  const worker = new Worker(URL.createObjectURL(new Blob([code], { type: 'text/javascript' })))
  worker.addEventListener('message', ({ data }) => parent.postMessage(data, '*'))
  addEventListener('message', ({ data }) => worker.postMessage(data))
</script>`

const WORKER = (shop: Shop, key: string) => ({
  '@shopify/web-pixels-extension': `
    const post = (data) => self.postMessage(data)
    ${RECEIVE}
    const init = { context: { document: { location: { href: '${shop.url}/first' } } } }
    export const register = (run) => { run({ analytics, browser, init }); post('ready') }`,
  './main.tsx': (block('pixel') + block('app', shop)).replace('YOURKEY', key),
})

/** Ways to run the guide's pixel. */
const PIXELS = {
  'a custom pixel': (shop: Shop, key: string) =>
    frameOf(block('pixel') + block('custom', shop).replace(/[^/]+(?='\nscript\.set)/, key)),
  'a pixel of an app': async (shop: Shop, key: string) => workerOf(await bundle(WORKER(shop, key))),
}

const publish = (page: Page, name: string, data: object) =>
  page.evaluate(([of, given]) => (window as unknown as Publishing).publish(of, given), [
    name,
    data,
  ] as const)
type Publishing = { publish(name: string, data: object): void }

const variant = { id: '44012345678901', sku: 'MUG-BLUE', product: { id: '8012345678901' } }
const cartLine = { merchandise: variant, quantity: 2 }
const ID = Number(variant.product.id)

async function open(page: Page, shop: Shop, html: string): Promise<void> {
  shop.page('/sandbox', { head: '', body: html })
  await page.goto(shop.page('/products/mug', { head: '', body: SHOP_PAGE }))
  await page.waitForFunction('window.isReady')
}

for (const [name, make] of Object.entries(PIXELS)) {
  const pixelTest = test.extend<{ own: TestCustomer; settings: KeySettings }>({
    settings: [{}, { option: true }],
    own: async ({ gateway, customer, settings }, use) => {
      const origins = [...block('origin').matchAll(/--origin (\S+)/g)].map(
        ([, origin = '']) => origin,
      )
      expect(origins).toContain('null')
      const { customer: added } = gateway.customers.add({ origins, config: settings })
      await use({ ...customer, ...added })
    },
  })

  pixelTest(
    `${name}: each customer event is one event`,
    async ({ page, shop, own, wire, arriveAt }) => {
      const arrive = arriveAt(own)
      await open(page, shop, await make(shop, own.trackingKey))
      const seen = { did: 'client-0001' }
      const url = `${shop.url}/products/mug`
      await publish(page, 'product_viewed', { productVariant: variant })
      await arrive({ ...seen, event: 'view_product', payload: { product_id: `${ID}`, url } })
      await publish(page, 'page_viewed', {})
      await publish(page, 'search_submitted', { searchResult: { query: 'mug' } })
      await publish(page, 'product_added_to_cart', { cartLine })
      await publish(page, 'product_removed_from_cart', { cartLine: { ...cartLine, quantity: 1 } })
      await publish(page, 'checkout_started', { checkout: {} })
      await publish(page, 'checkout_contact_info_submitted', { checkout: { email: null } })
      await publish(page, 'checkout_contact_info_submitted', {
        checkout: { email: 'ann@example.com' },
      })
      await arrive(
        { ...seen, event: 'search', payload: { search_term: 'mug' } },
        { ...seen, ...line('add_to_cart', ID, 2, variant.id, 'MUG-BLUE') },
        { ...seen, ...line('remove_from_cart', ID, 1, variant.id, 'MUG-BLUE') },
        { ...seen, event: 'initiate_checkout' },
        { ...seen, event: 'set_email', payload: { email_address: 'ann@example.com' } },
      )
      // A shop whose theme has the tag: its id.
      await page.evaluate(`localStorage.setItem('track.did', '=old_visitor.42')`)
      await publish(page, 'product_viewed', { productVariant: { ...variant, sku: null } })
      await arrive({ ...viewProduct(ID), did: 'old_visitor.42' })
      const origins = wire.events.map(({ headers }) => headers.origin)
      expect(new Set(origins)).toEqual(new Set(['null']))
    },
  )
}

test('a key that asks for consent', async ({ page, shop, gateway, customer, arriveAt }) => {
  const config: KeySettings = { consent: 'required', consentSources: ['shopify'] }
  const { customer: added } = gateway.customers.add({ origins: ['null'], config })
  const code = block('custom', shop).replace(customer.trackingKey, added.trackingKey)
  const html = (more: string) => frameOf(block('pixel') + code + more)
  await open(page, shop, html(''))
  await publish(page, 'checkout_started', { checkout: {} })
  await open(page, shop, html(block('consent')))
  await publish(page, 'product_viewed', { productVariant: variant })
  await arriveAt({ ...customer, ...added })(viewProduct(ID))
})
