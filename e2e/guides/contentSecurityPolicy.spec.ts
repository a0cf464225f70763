import { createHash } from 'node:crypto'
import { STUB } from '../../src/tracker/snippet.ts'
import { search } from '../fixtures.ts'
import type { Shop } from '../shopServer.ts'
import { END, expect, readGuide, test, viewOf } from './guide.ts'

const block = readGuide('content-security-policy')

const policyOf = (name: string, shop: Shop) =>
  block(name, shop).replace('Content-Security-Policy: ', '').trim()

const HOME = '<main data-track="viewHomepage" data-track-on="load">Welcome</main>'
const TRUSTED_TYPES = "; require-trusted-types-for 'script'; trusted-types 'none'"
const early = (nonce: string) => `<script ${nonce}>${STUB}</script>`
const call = (nonce: string) => `<script ${nonce}>track.search({ search_term: 'early' })</script>`
const nonce = 'nonce="R4nd0m"'

/** Collects what the policy has blocked. */
const WATCH = `addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
  (window.blocked ??= []).push(violatedDirective + ' ' + blockedURI))`

test('the hash of the page is that of the short stub', () => {
  const hash = createHash('sha256').update(STUB).digest('base64')
  expect(block('hash')).toContain(`'sha256-${hash}'`)
})

for (const [name, parts] of Object.entries({
  hosts: (shop: Shop) => shop.tag('async'),
  nonces: (shop: Shop) => early(nonce) + block('nonce', shop) + call(nonce),
  hash: (shop: Shop) => early('') + shop.tag('async'),
}))
  for (const more of ['', TRUSTED_TYPES])
    test(`the policy "${name}"${more && ' and Trusted Types'} allows everything that the script does`, async ({
      page,
      shop,
      arrive,
    }) => {
      const headers = { 'content-security-policy': policyOf(name, shop) + more }
      await page.addInitScript(WATCH)
      await page.goto(shop.page('/', { head: parts(shop), body: HOME, headers }))
      const called = name === 'nonces' ? [{ payload: { search_term: 'early' } }] : []
      await arrive(...called, viewOf(shop, '/'), { event: 'view_homepage' })
      expect(await page.evaluate('window.blocked ?? []')).toEqual([])
      if (name === 'hash') expect(await page.evaluate('track.version')).toMatch(/^\d/)
      await search(page, 'end')
      await arrive(END)
    })

test('without connect-src the event waits, and arrives once the policy is right', async ({
  page,
  shop,
  watch,
  arrive,
}) => {
  const policy = policyOf('hosts', shop)
  const body = HOME
  const wrong = policy.replace(/(connect-src 'self').*/, '$1')
  const blocked = page.waitForEvent('console', (message) => /Content Security/.test(message.text()))
  const headers = { 'content-security-policy': wrong }
  await page.goto(shop.page('/wrong', { head: shop.tag('async'), body, headers }))
  await blocked
  const right = { 'content-security-policy': policy }
  await page.goto(shop.page('/right', { head: shop.tag('async'), headers: right }))
  await arrive(viewOf(shop, '/wrong'), { event: 'view_homepage' }, viewOf(shop, '/right'))
  // The browser's lines about the policy of the first page.
  for (const text of watch.faults.splice(0)) expect(text).toContain('Content Security Policy')
})

test("'strict-dynamic' makes the browser ignore hosts", async ({ page, shop, wire, watch }) => {
  const policy = policyOf('hosts', shop).replace("script-src 'self'", "$& 'strict-dynamic'")
  const headers = { 'content-security-policy': policy }
  await page.addInitScript(WATCH)
  await page.goto(shop.page('/', { head: shop.tag('async'), headers }))
  await expect
    .poll(() => page.evaluate('window.blocked ?? []'))
    .toEqual([`script-src-elem ${shop.script()}`])
  expect(wire.events).toEqual([])
  for (const text of watch.faults.splice(0)) expect(text).toContain('Content Security Policy')
})
