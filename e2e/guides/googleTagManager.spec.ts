import { parse } from 'acorn'
import { minify } from 'terser'
import { search } from '../fixtures.ts'
import { END, expect, line, readGuide, settingsOf, test, viewOf, viewProduct } from './guide.ts'

const block = readGuide('google-tag-manager')

/** The code of the scripts in some HTML. */
const codesOf = (html: string) =>
  [...html.matchAll(/<script>(.*?)<\/script>/gs)].map(([, code = '']) => code)

/**
 * A container, as a tag manager publishes it: the scripts of its custom HTML are checked as ES5, minified, and kept as
 * `text/gtmscript`. In the page it makes script elements of its own from them, with nothing but src, id and charset.
 */
async function containerOf(html: string, doesWrite = false): Promise<string> {
  let published = html.replaceAll(/<script([^>]*)\ssrc="/g, '<script$1 data-gtmsrc="')
  for (const code of codesOf(html)) {
    parse(code, { ecmaVersion: 5 })
    const { code: minified = '' } = await minify(code, { ecma: 5 })
    published = published.replace(code, () => minified)
  }
  const quote = (text: string) => JSON.stringify(text).replaceAll('<', '\\u003C')
  const inserted = quote(published.replaceAll('<script', '<script type="text/gtmscript"'))
  return `
    window.dataLayer = window.dataLayer || []
    const { push } = dataLayer
    const fire = () => {
      if (${doesWrite} && document.readyState === 'loading')
        return document.write(${quote(published.replaceAll('data-gtmsrc', 'src'))})
      const holder = document.createElement('div')
      holder.innerHTML = ${inserted}
      for (const kept of holder.querySelectorAll('script')) {
        const script = document.createElement('script')
        script.async = false
        script.type = 'text/javascript'
        script.id = kept.id
        script.text = kept.text
        if (kept.charset) script.charset = kept.charset
        if (kept.dataset.gtmsrc) script.src = kept.dataset.gtmsrc
        document.body ? document.body.append(script) : document.head.append(script)
      }
    }
    dataLayer.push = function () {
      const length = push.apply(this, arguments)
      for (const { event } of arguments) if (event === 'gtm.init' || event === 'gtm.historyChange') fire()
      return length
    }
    addEventListener('popstate', () => dataLayer.push({ event: 'gtm.historyChange' }))
    dataLayer.push({ event: 'gtm.js', 'gtm.start': Date.now() }, { event: 'gtm.init' })`
}

const PUSH = {
  plugin: `{ event: '__sm__view_product', product_id: 12 }`,
  ga4: `{ event: 'add_to_cart', ecommerce: { items: [{ item_id: '12', quantity: 2 }] } }`,
}

for (const doesWrite of [false, true])
  test(`a custom HTML tag ${doesWrite ? 'with support of document.write' : 'without document.write'}`, async ({
    page,
    shop,
    customer,
    arriveAt,
  }) => {
    const own = customer.another({ pageViews: 'all', ...settingsOf(block('ga4')) })
    const arrive = arriveAt(own)
    const html = block('tag', shop).replace(customer.trackingKey, own.trackingKey)
    const head = `<script>dataLayer = [${PUSH.plugin}]</script>
      <script>{${await containerOf(html, doesWrite)}}</script>`
    await page.goto(shop.page('/p/12', { head }))
    await arrive(viewOf(shop, '/p/12'), viewProduct(12))
    await page.evaluate(`dataLayer.push({ ecommerce: null }, ${PUSH.ga4})`)
    await arrive(line('add_to_cart', 12, 2))
    // The tag fires again.
    await page.evaluate(`history.pushState({}, '', '/p/13')`)
    await arrive(viewOf(shop, '/p/13'))
    await page.evaluate('history.back()')
    await page.waitForURL('**/p/12')
    await arrive(viewOf(shop, '/p/12'))
    expect(await page.evaluate('document.scripts.length')).toBeGreaterThan(3)
    await search(page, 'end')
    await arrive(END)
  })

test('a plain tag loses its attributes in the container, setAttribute does not', async ({
  page,
  shop,
  arrive,
}) => {
  const plain = shop.tag('async data-source="tag manager"')
  for (const [path, html, source] of [
    ['/plain', plain, undefined],
    ['/set', block('attribute', shop), 'tag manager'],
  ] as const) {
    const head = `<script>{${await containerOf(html)}}</script>`
    await page.goto(shop.page(path, { head }))
    await arrive({ event: 'view_page', payload: { url: shop.url + path, source } })
  }
})
