import { createHash } from 'node:crypto'
import {
  allowsConnection,
  allowsInline,
  allowsScript,
  readPolicies,
} from '../src/gateway/check/csp.ts'
import { cspLines } from '../src/gateway/check/setupTexts.ts'
import { STUB } from '../src/tracker/snippet.ts'
import { expect, test } from './fixtures.ts'

const NONCE = 'R4nd0m'
const HASH = `sha256-${createHash('sha256').update(STUB).digest('base64')}`

/** BASE is the gateway's address, HOST its host and port. */
const POLICIES = [
  "default-src 'none'",
  "default-src 'self'",
  'default-src *',
  'default-src http:',
  'default-src https:',
  'default-src BASE',
  'default-src HOST',
  'script-src BASE; connect-src BASE',
  'script-src BASE/; connect-src BASE/',
  'script-src BASE/t/; connect-src BASE/t/',
  'script-src BASE/t; connect-src BASE/t',
  'script-src BASE/t/j/; connect-src BASE/t/batch',
  'script-src BASE/%74/; connect-src BASE/%74/',
  'script-src BASE/t/?x; connect-src BASE/t/?x',
  'script-src http://127.0.0.1:*; connect-src http://127.0.0.1:*',
  'script-src http://127.0.0.1; connect-src http://127.0.0.1',
  'script-src http://*:*; connect-src http://*:*',
  'script-src *:*; connect-src *:*',
  'script-src ws:; connect-src ws:',
  'script-src https://127.0.0.1:*; connect-src wss://127.0.0.1:*',
  "script-src 'none' BASE; connect-src 'none' BASE",
  "script-src 'self'; script-src-elem BASE; connect-src BASE",
  "script-src BASE; script-src-elem 'self'; connect-src BASE",
  "script-src 'self'; script-src BASE; connect-src 'self'; connect-src BASE",
  "script-src BASE 'unsafe-inline'; connect-src BASE",
  `script-src BASE '${HASH}'; connect-src BASE`,
  `script-src BASE 'unsafe-inline' 'sha256-AAAA'; connect-src BASE`,
  `script-src 'nonce-${NONCE}'; connect-src *`,
  `script-src 'nonce-${NONCE}' BASE; connect-src *`,
  `script-src 'nonce-${NONCE}' 'strict-dynamic'; connect-src *`,
  `script-src 'nonce-other' 'strict-dynamic' BASE 'unsafe-inline'; connect-src *`,
  `script-src 'nonce-${NONCE}' 'strict-dynamic', script-src BASE; connect-src *`,
  "script-src BASE 'unsafe-inline', connect-src 'self'",
  'frame-ancestors *',
  'script-src BASE; ; connect-src\tBASE',
]

test('the check says what Chromium says of each policy', async ({ page, shop, wire, watch }) => {
  // Not the tag's own directives: what the page may request is asked by the page.
  await page.addInitScript(() => {
    const seen: string[] = []
    Object.assign(window, { seen })
    addEventListener('securitypolicyviolation', ({ blockedURI }) => seen.push(blockedURI))
  })
  const base = wire.url
  const differences: unknown[] = []
  for (const nonce of [undefined, NONCE])
    for (const pattern of POLICIES) {
      const policy = pattern.replaceAll('BASE', base).replaceAll('HOST', new URL(base).host)
      const attribute = nonce ? `nonce="${nonce}"` : ''
      const head = `<script ${attribute}>${STUB}</script>${shop.tag(attribute)}`
      const body =
        '<b data-track="search" data-track-on="load" data-track-search-term="mug">mug</b>'
      const url = shop.page('/a', { head, body, headers: { 'content-security-policy': policy } })
      await page.goto(url)
      const seen = await page.evaluate(async (target) => {
        const { seen } = window as unknown as { seen: string[] }
        const connects = await fetch(target, { method: 'POST', body: '{"events":[]}' }).then(
          () => true,
          () => false,
        )
        const hasRun = typeof window.track?.version === 'string'
        const loaded = () =>
          performance.getEntriesByType('resource').some(({ name }) => name.endsWith('/t/p.js'))
        const isBlocked = () => seen.some((uri) => uri.endsWith('/t/p.js'))
        // The file is loaded when the page has such an element and the browser has time.
        while (hasRun && !loaded() && !isBlocked())
          await new Promise((resolve) => setTimeout(resolve, 20))
        return { hasRun, connects, files: hasRun && !isBlocked(), stub: !seen.includes('inline') }
      }, `${base}/t/batch`)
      const all = readPolicies(policy)
      const hasRun = all.every((one) =>
        allowsScript(one, { url: shop.script(), nonce, isInHtml: true }, url),
      )
      const said = {
        hasRun,
        connects: all.every((one) => allowsConnection(one, `${base}/t/batch`, url)),
        files:
          hasRun &&
          all.every((one) =>
            allowsScript(one, { url: `${base}/t/p.js`, nonce, isInHtml: false }, url),
          ),
        stub: all.every((one) => allowsInline(one, HASH, nonce)),
      }
      if (JSON.stringify(seen) !== JSON.stringify(said))
        differences.push({ pattern, nonce, seen, said })
    }
  // The lines of the browser about what it has blocked.
  const lines = watch.faults.splice(0)
  expect(lines.filter((line) => !/Content.Security.Policy/.test(line))).toEqual([])
  expect(differences).toEqual([])
})

test('the lines for a policy are enough for the script, its files, its requests and the stub', async ({
  page,
  shop,
  wire,
  expectStored,
}) => {
  const lines = cspLines(wire.url).slice(0, 3)
  const sources = (name: string) =>
    lines.flatMap(({ directive, sources }) => (directive === name ? [sources] : [])).join(' ')
  const policy = `default-src 'none'; script-src ${sources('script-src')}; connect-src ${sources('connect-src')}; img-src data:`
  const head = `<script>${STUB}</script>${shop.tag('async')}`
  const body = '<b data-track="search" data-track-on="load" data-track-search-term="mug">mug</b>'
  await page.goto(shop.page('/a', { head, body, headers: { 'content-security-policy': policy } }))
  await expectStored(['mug'])
  const debug = page.waitForResponse(`${wire.url}/t/i.js`)
  await page.evaluate(() => track.debug(true))
  expect((await debug).ok()).toBe(true)
})
