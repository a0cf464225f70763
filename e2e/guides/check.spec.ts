import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { Liquid } from 'liquidjs'
import type { PageParts, Shop } from '../shopServer.ts'
import { expect, readGuide, test } from './guide.ts'

/*
 * The command that a reader of the guides uses to check their shop, on pages with the blocks of the guides. It reads HTML
 * and runs nothing.
 */

const COMMAND = fileURLToPath(new URL('../../dist/shoptrail.js', import.meta.url))

type Finding = { readonly level: string; readonly code: string; readonly message: string }
type Checked = { readonly key?: string; readonly findings: readonly Finding[] }

/** Runs `shoptrail check`. It exits with 1 if it has found errors. */
const check = (url: string, ...options: string[]) =>
  new Promise<Checked>((done, fail) =>
    execFile(process.execPath, [COMMAND, 'check', url, '--json', ...options], (error, stdout) =>
      error && error.code !== 1 ? fail(error) : done(JSON.parse(stdout)),
    ),
  )

const withPolicy = (name: string) => (shop: Shop) => {
  const block = readGuide('content-security-policy')
  const policy = block(name, shop).replace('Content-Security-Policy: ', '').trim()
  const head = name === 'nonces' ? block('nonce', shop) : shop.tag('async')
  return { head, headers: { 'content-security-policy': policy } }
}
const values = { request: { page_type: 'index' } }

const PAGES: { readonly [name: string]: (shop: Shop) => PageParts } = {
  'plain HTML': (shop) => ({ head: readGuide('plain-html')('tag', shop) }),
  WooCommerce: (shop) => ({ head: readGuide('woocommerce')('tag', shop) }),
  Magento: (shop) => ({ head: readGuide('magento')('head', shop) }),
  Shopify: (shop) => ({
    head: new Liquid().parseAndRenderSync(readGuide('shopify')('theme', shop), values),
  }),
  React: (shop) => ({ head: readGuide('react')('tag', shop) }),
  Vue: (shop) => ({ head: readGuide('vue')('tag', shop) }),
  'a policy with hosts': withPolicy('hosts'),
  'a policy with nonces': withPolicy('nonces'),
  'a policy with a hash': withPolicy('hash'),
}

for (const [name, parts] of Object.entries(PAGES))
  test(`check finds the tag of the guide: ${name}`, async ({ shop, customer }) => {
    const { key, findings } = await check(shop.page('/', parts(shop)))
    const faults = findings.filter(({ level }) => level === 'error' || level === 'warning')
    expect({ key, faults }).toEqual({ key: customer.trackingKey, faults: [] })
  })

/** The snippet of a tag manager, which adds the tag. */
const MANAGER = `<script>(function (d) { var j = d.createElement('script')
  j.src = 'https://www.googletagmanager.com/gtm.js?id=GTM-ABC123'; d.head.append(j) })(document)</script>`

test('check says what it can not see, and what the guides warn of', async ({ shop, customer }) => {
  const codesOf = async (parts: PageParts) => {
    const gateway = ['--gateway', new URL(shop.script()).origin]
    const { findings } = await check(
      shop.page('/', parts),
      '--key',
      customer.trackingKey,
      ...gateway,
    )
    return findings
      .filter(({ level }) => level !== 'ok')
      .map(({ level, code }) => `${level} ${code}`)
  }
  const consent = readGuide('consent-tools')
  expect(await codesOf({ head: MANAGER })).toContain('note tag-added')
  expect(await codesOf({ head: consent('exempt', shop) })).toEqual([])
  expect(await codesOf({ head: consent('blocked', shop) })).toEqual(['warning tag-delayed'])
  const { headers } = withPolicy('hosts')(shop)
  const policy = headers['content-security-policy'].replace(
    "script-src 'self'",
    "$& 'strict-dynamic'",
  )
  const strict = { head: shop.tag('async'), headers: { 'content-security-policy': policy } }
  expect(await codesOf(strict)).toContain('error csp-script')
})
