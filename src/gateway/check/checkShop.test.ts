import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { CONSENT_TOOLS } from '../../contract/consentTools.ts'
import { KEEPING_STUB, STUB, STUB_ES5 } from '../../tracker/snippet.ts'
import { type AskGateway, checkShop } from './checkShop.ts'
import type { FetchPage } from './fetchPage.ts'
import type { KnownSettings } from './shopPage.ts'

const SHOP = 'https://shop.example/'
const GATEWAY = 'https://t.example'
const SRC = `${GATEWAY}/t/j/KEY123`
const TAG = `<script async src="${SRC}"></script>`
const DEFAULTS: KnownSettings = {
  consent: 'granted',
  sources: [],
  ga4: false,
  dataLayer: true,
  dataLayerName: 'dataLayer',
  schemaOrg: false,
  global: 'track',
}

type Answered =
  | string
  | { html?: string; status?: number; headers?: Record<string, string>; url?: string }

/** A shop whose pages are here, by their addresses. Others are 404. */
const shopOf =
  (pages: Readonly<Record<string, Answered>>): FetchPage =>
  async (url) => {
    const answered = pages[url] ?? { status: 404 }
    const {
      html = '',
      status = 200,
      headers = {},
      ...rest
    } = typeof answered === 'string' ? { html: answered } : answered
    return {
      ok: true,
      url: rest.url ?? url,
      status,
      headers: { 'content-type': 'text/html', ...headers },
      body: Buffer.from(html),
      sentBytes: html.length,
      isCut: false,
      redirects: [],
    }
  }

async function check(
  pages: Readonly<Record<string, Answered>>,
  given: { key?: string; gateway?: string; settings?: Partial<KnownSettings>; shop?: string } = {},
) {
  const { settings, shop = SHOP, ...wanted } = given
  const asked: [unknown, readonly string[]][] = []
  const askGateway: AskGateway = async (wanted, origins) => {
    asked.push([wanted, origins])
    return { settings: settings && { ...DEFAULTS, ...settings }, findings: [] }
  }
  const { report, isReached } = await checkShop({
    shop,
    ...wanted,
    fetchPage: shopOf(pages),
    askGateway,
  })
  const codes = report.findings.map(({ level, code }) => `${level} ${code}`)
  return { report, isReached, codes, asked }
}

/** The findings of one page, for the key of its tag. */
const codesOf = async (html: string, headers: Record<string, string> = {}, given = {}) =>
  (await check({ [SHOP]: { html, headers } }, given)).codes

const WANTED = { key: 'KEY123', gateway: GATEWAY }

test.each<[string, string, string[]]>([
  ['the tag', TAG, ['ok tag-ok']],
  ['defer', `<script defer src="${SRC}"></script>`, ['ok tag-ok']],
  ['a module', `<script type=module src="${SRC}"></script>`, ['ok tag-ok']],
  [
    'pinned',
    `<script async src="${SRC}/${'a'.repeat(64)}.js" integrity="sha384-x" crossorigin></script>`,
    ['ok tag-ok'],
  ],
  ['no tag', '<p>', ['error tag-missing']],
  ['text that is not HTML', 'nothing', ['error tag-missing']],
  [
    'another script',
    '<script src="https://other.example/t/jquery.js"></script>',
    ['error tag-missing'],
  ],
  ['another key', TAG.replace('KEY123', 'OTHER123'), ['error tag-other-key']],
  ['two keys', TAG + TAG.replace('KEY123', 'OTHER123'), ['note tag-two-keys', 'ok tag-ok']],
  ['twice', TAG + TAG, ['warning tag-twice', 'ok tag-ok']],
  [
    'another gateway',
    TAG.replace('t.example', 'old.example'),
    ['warning tag-other-gateway', 'ok tag-ok'],
  ],
  [
    "a proxy on the shop's own host",
    '<script async src="/in/t/j/KEY123"></script>',
    ['ok tag-ok', 'ok tag-own-host'],
  ],
  ['a comment', `<!-- ${TAG} -->`, ['error tag-in-comment']],
  ['a comment and the tag', `<!-- ${TAG} -->${TAG}`, ['ok tag-ok']],
  ['noscript', `<noscript>${TAG}</noscript>`, ['error tag-in-noscript']],
  ['a template', `<template>${TAG}</template>`, ['error tag-in-template']],
  ['nomodule', TAG.replace('async', 'nomodule async'), ['error tag-in-nomodule']],
  [
    'held back by a consent tool',
    TAG.replace('async', 'type="text/plain" data-category="statistics"'),
    ['warning tag-delayed'],
  ],
  [
    'held back by an optimizer',
    TAG.replace('async', 'type="0123456789abcdef01234567-text/javascript"'),
    ['warning tag-delayed'],
  ],
  [
    'a type with parameters, which browsers do not run',
    TAG.replace('async', 'type="text/javascript;charset=utf-8"'),
    ['warning tag-delayed'],
  ],
  ['its src moved', `<script type="lazy" data-src="${SRC}"></script>`, ['warning tag-delayed']],
  ['added by a script', `<script>s.src="${GATEWAY}/t/j/"+key</script>`, ['note tag-added']],
  [
    'a tag manager',
    `<script async src="https://tags.example/gtm.js?id=GTM-ABCD12"></script>`,
    ['note tag-added', 'note ga4-found'],
  ],
  [
    'inlined with an address',
    `<script>(function(){})({"batch":true,"base":"${GATEWAY}","key":"KEY123"});</script>`,
    ['note tag-inlined'],
  ],
  [
    'inlined without one',
    `<script>(function(){})({"batch":true,"key":"KEY123"});</script>`,
    ['error tag-inlined'],
  ],
  ['without async', `<script src="${SRC}"></script>`, ['note tag-blocking', 'ok tag-ok']],
  [
    'integrity of the changing address',
    `<script async src="${SRC}" integrity="sha384-x" crossorigin="anonymous"></script>`,
    ['error tag-integrity-unpinned', 'ok tag-ok'],
  ],
  [
    'integrity without crossorigin',
    `<script async src="${SRC}/${'a'.repeat(64)}.js" integrity="sha384-x"></script>`,
    ['error tag-integrity-cors', 'ok tag-ok'],
  ],
  [
    'a helper without a stub',
    `<script>track.addToCart({})</script>${TAG}`,
    ['warning stub-missing', 'ok tag-ok'],
  ],
  [
    'a helper after the stub',
    `<script>${STUB}</script><script>track.addToCart({})</script>${TAG}`,
    ['ok tag-ok'],
  ],
  [
    'a helper after the other stubs',
    `<script>${STUB_ES5}</script><script>track.search({})</script>${TAG}`,
    ['ok tag-ok'],
  ],
  ['an object of another kind', `<script>soundtrack.search()</script>${TAG}`, ['ok tag-ok']],
])('the tag: %s', async (_, html, expected) => {
  expect(await codesOf(html, {}, WANTED)).toEqual(expected)
})

test('the fix of a missing tag is the tag', async () => {
  const { report } = await check({ [SHOP]: '<p>' }, WANTED)
  expect(report.findings[0]).toEqual({
    level: 'error',
    code: 'tag-missing',
    message: 'The tag is not there.',
    fix: [TAG],
    pages: [SHOP],
  })
})

test('the fix of an optimizer is a tag that it leaves alone', async () => {
  const html = TAG.replace('async', 'type="0123456789abcdef01234567-text/javascript"')
  const { report } = await check({ [SHOP]: html }, WANTED)
  expect(report.findings[0]?.fix).toEqual([TAG.replace('async', 'async data-cfasync="false"')])
})

test('without a key and a gateway, they are those of the tag', async () => {
  const { report, asked } = await check({
    [SHOP]: `<base href="${GATEWAY}/x/">${TAG.replace(GATEWAY, '')}`,
  })
  expect(report).toMatchObject(WANTED)
  expect(asked).toEqual([[{ ...WANTED, customerId: 'ID' }, ['https://shop.example']]])
})

test('without a tag there is nothing to ask, and the fix names no key', async () => {
  const { report, asked } = await check({ [SHOP]: '<p>' })
  expect(report).toMatchObject({ key: null, gateway: null })
  expect(asked).toEqual([])
  expect(report.findings[0]?.fix).toEqual([
    '<script async src="https://gateway.example/t/j/YOURKEY"></script>',
  ])
})

test('pages of each kind are read, and one finding names them all', async () => {
  const html = `<a href="/product/1">1</a><a href="/cart">c</a><form><input type=search name=q></form>${TAG}`
  const { report, codes, asked } = await check(
    {
      [SHOP]: { html, url: 'https://www.shop.example/' },
      'https://www.shop.example/product/1': TAG,
      'https://www.shop.example/cart': { html: '<p>', url: 'https://pay.shop.example/cart' },
      'https://www.shop.example/?q=test': { status: 503 },
    },
    WANTED,
  )
  expect(report.pages).toEqual([
    { kind: 'home', url: 'https://www.shop.example/', status: 200 },
    { kind: 'cart', url: 'https://pay.shop.example/cart', status: 200 },
    { kind: 'product', url: 'https://www.shop.example/product/1', status: 200 },
    { kind: 'search', url: 'https://www.shop.example/?q=test', status: 503 },
  ])
  expect(codes).toEqual(['error tag-missing', 'note page-refused', 'ok tag-ok'])
  expect(report.findings[2]?.pages).toEqual([
    'https://www.shop.example/',
    'https://www.shop.example/product/1',
  ])
  expect(asked[0]?.[1]).toEqual(['https://www.shop.example', 'https://pay.shop.example'])
})

test('a page that redirects to one that was read counts once', async () => {
  const { report } = await check({
    [SHOP]: `<a href="/cart">c</a>${TAG}`,
    [`${SHOP}cart`]: { html: TAG, url: SHOP },
  })
  expect(report.pages.map(({ kind }) => kind)).toEqual(['home'])
})

test.each<[Answered, string]>([
  [{ status: 403 }, 'error page-refused'],
  [{ status: 404 }, 'error page-status'],
  [{ status: 500 }, 'error page-status'],
  [{ status: 204 }, 'error page-status'],
  [{ html: '{}', headers: { 'content-type': 'application/json' } }, 'error page-type'],
])('a shop that answers %j is not reached', async (answered, code) => {
  const { codes, isReached } = await check({ [SHOP]: answered }, WANTED)
  expect([codes, isReached]).toEqual([[code], false])
})

test('an address on this machine without a scheme is http', async () => {
  const { report } = await check({ 'http://localhost:8080/': TAG }, { shop: 'localhost:8080' })
  expect(report.pages).toEqual([{ kind: 'home', url: 'http://localhost:8080/', status: 200 }])
})

test.each(['shop.example', 'https:/shop.example', 'HTTPS:shop.example'])(
  'the address %s is that of the shop',
  async (shop) => {
    expect((await check({ [SHOP]: TAG }, { shop })).report.shop).toBe(SHOP)
  },
)

test('the stub of a key with another global name has that name, and other objects are not the helpers', async () => {
  const html = `<script>shop.addToCart({})</script>${TAG}`
  const settings = { global: 'shop' }
  const { report } = await check({ [SHOP]: html }, { ...WANTED, settings })
  expect(report.findings[0]).toMatchObject({ code: 'stub-missing' })
  expect(report.findings[0]?.fix[0]).toContain('"shop")</script>')
  expect(await codesOf(html.replace('shop.', 'track.'), {}, { ...WANTED, settings })).toEqual([
    'ok tag-ok',
  ])
})

test('a consent tool in a comment is not one of the shop', async () => {
  const tool = '<script src="https://consent.cookiebot.com/uc.js"></script>'
  expect((await check({ [SHOP]: `<!-- ${tool} -->` })).report.consent).toEqual([])
  expect((await check({ [SHOP]: tool })).report.consent).toHaveLength(1)
})

const NONCE_TAG = TAG.replace('async', 'async nonce="n1"')
const STUB_HASH = `'sha256-${createHash('sha256').update(KEEPING_STUB).digest('base64')}'`

test.each<[string, string, Record<string, string>, string[]]>([
  [
    'allowed',
    TAG,
    { 'content-security-policy': `script-src 'self' ${GATEWAY}/t/; connect-src ${GATEWAY}` },
    ['ok csp-ok', 'ok tag-ok'],
  ],
  [
    'the script',
    TAG,
    { 'content-security-policy': "script-src 'self'" },
    ['error csp-script', 'ok tag-ok'],
  ],
  [
    'everything',
    TAG,
    { 'content-security-policy': "default-src 'self'" },
    ['error csp-script', 'error csp-connect', 'ok tag-ok'],
  ],
  [
    'by a meta element',
    `<meta http-equiv="Content-Security-Policy" content="script-src 'self'">${TAG}`,
    {},
    ['error csp-script', 'ok tag-ok'],
  ],
  [
    'by a meta element after the tag',
    `${TAG}<meta http-equiv="Content-Security-Policy" content="script-src 'self'">`,
    {},
    ['warning csp-files', 'ok tag-ok'],
  ],
  [
    'by one of two',
    TAG,
    { 'content-security-policy': `script-src https:, connect-src 'self'` },
    ['error csp-connect', 'ok tag-ok'],
  ],
  [
    'only reported',
    TAG,
    { 'content-security-policy-report-only': "default-src 'self'" },
    ['note csp-script-reported', 'note csp-connect-reported', 'ok tag-ok'],
  ],
  [
    'the files that the script loads',
    TAG,
    { 'content-security-policy': `script-src ${GATEWAY}/t/j/` },
    ['warning csp-files', 'ok tag-ok'],
  ],
  [
    'with a nonce',
    NONCE_TAG,
    { 'content-security-policy': "script-src 'nonce-n1' 'strict-dynamic'" },
    ['ok csp-ok', 'ok tag-ok'],
  ],
  [
    'without the nonce',
    TAG,
    { 'content-security-policy': "script-src 'nonce-n1' 'strict-dynamic' https:" },
    ['error csp-script', 'ok tag-ok'],
  ],
  [
    'before there is a tag',
    '<p>',
    { 'content-security-policy': "script-src 'self'" },
    ['error tag-missing', 'error csp-script'],
  ],
  [
    'the stub',
    `<script>${KEEPING_STUB}</script>${TAG}`,
    { 'content-security-policy': 'script-src https:' },
    ['error csp-stub', 'ok tag-ok'],
  ],
  [
    'not the stub, by its hash',
    `<script>${KEEPING_STUB}</script>${TAG}`,
    { 'content-security-policy': `script-src https: ${STUB_HASH}` },
    ['ok csp-ok', 'ok tag-ok'],
  ],
  [
    'a sandbox without scripts',
    TAG,
    { 'content-security-policy': 'sandbox' },
    ['error csp-sandbox', 'ok tag-ok'],
  ],
  [
    'a sandbox without an origin',
    TAG,
    { 'content-security-policy': 'sandbox allow-scripts' },
    ['warning csp-sandbox', 'ok tag-ok'],
  ],
  [
    'a sandbox with both',
    TAG,
    { 'content-security-policy': 'sandbox allow-scripts allow-same-origin' },
    ['ok csp-ok', 'ok tag-ok'],
  ],
  [
    'a sandbox in a meta element, which counts for nothing',
    `<meta http-equiv="Content-Security-Policy" content="sandbox">${TAG}`,
    {},
    ['ok csp-ok', 'ok tag-ok'],
  ],
])('a policy forbids: %s', async (_, html, headers, expected) => {
  expect((await codesOf(html, headers, WANTED)).sort()).toEqual([...expected].sort())
})

test.each([
  ["script-src 'self'", [`script-src 'self' ${GATEWAY}/t/`]],
  ["script-src 'none'", [`script-src ${GATEWAY}/t/`]],
  ["default-src 'self' data:", [`script-src 'self' data: ${GATEWAY}/t/`]],
  ["script-src-elem 'self'", [`script-src-elem 'self' ${GATEWAY}/t/`]],
  ["script-src 'strict-dynamic'", [NONCE_TAG.replace('n1', '…'), expect.any(String)]],
])('the fix of %s', async (policy, expected) => {
  const { report } = await check({
    [SHOP]: { html: TAG, headers: { 'content-security-policy': policy } },
  })
  expect(report.findings.find(({ code }) => code === 'csp-script')?.fix).toEqual(expected)
})

test.each<[string, string, string, Record<string, string>, string[]]>([
  ['https and http', SHOP, 'http://t.example', {}, ['error mixed-content', 'ok tag-ok']],
  ['https and this machine', SHOP, 'http://localhost:8787', {}, ['ok tag-ok']],
  ['http and http', 'http://shop.example/', 'http://t.example', {}, ['ok tag-ok']],
  [
    'upgraded',
    SHOP,
    'http://t.example',
    { 'content-security-policy': 'upgrade-insecure-requests' },
    ['warning mixed-upgraded', 'ok csp-ok', 'ok tag-ok'],
  ],
])('mixed content: %s', async (_, shop, gateway, headers, expected) => {
  const html = TAG.replace(GATEWAY, gateway)
  const { codes } = await check({ [shop]: { html, headers } }, { shop })
  expect(codes.sort()).toEqual([...expected].sort())
})

/** An address of each tool's script, as its documentation has it. */
const TOOL_SCRIPTS: Readonly<Record<string, readonly string[]>> = {
  cookiebot: ['https://consent.cookiebot.com/uc.js', 'https://consent.cookiebot.eu/uc.js'],
  onetrust: [
    'https://cdn.cookielaw.org/scripttemplates/otSDKStub.js',
    'https://cdn-ukwest.onetrust.com/scripttemplates/otSDKStub.js',
  ],
  usercentrics: ['https://web.cmp.usercentrics.eu/ui/loader.js'],
  usercentrics2: ['https://app.usercentrics.eu/browser-ui/latest/loader.js'],
  cookieyes: [
    'https://cdn-cookieyes.com/client_data/0123/script.js',
    '/wp-content/plugins/cookie-law-info/lite/frontend/js/script.min.js',
  ],
  complianz: ['/wp-content/plugins/complianz-gdpr/cookiebanner/js/complianz.min.js'],
  shopify: [
    'https://cdn.shopify.com/shopifycloud/consent-tracking-api/v0.1/consent-tracking-api.js',
    '/cdn/shopifycloud/privacy-banner/storefront-banner.js',
  ],
  wpConsent: ['/wp-content/plugins/wp-consent-api/assets/js/wp-consent-api.min.js'],
}

test('every consent tool of the table is recognised by the address of its script, and by no other', async () => {
  expect(Object.keys(TOOL_SCRIPTS)).toEqual(CONSENT_TOOLS.map(({ name }) => name))
  for (const [name, scripts] of Object.entries(TOOL_SCRIPTS))
    for (const src of scripts) {
      const { report } = await check({ [SHOP]: `<script src="${src}"></script>${TAG}` })
      expect([src, report.consent.map(({ source }) => source)]).toEqual([src, [name]])
    }
})

test.each<[string, string, string[]]>([
  ["gtag('consent', 'default', {})", 'Consent Mode', ['consentMode']],
  ['window.__tcfapi("ping", 2, f)', 'TCF', ['tcf']],
  ["gtag('event', 'consent')", 'neither', []],
])('%s is %s', async (text, _, expected) => {
  const { report } = await check({ [SHOP]: `<script>${text}</script>${TAG}` })
  expect(report.consent.map(({ source }) => source)).toEqual(expected)
})

const TOOL = '<script src="https://consent.cookiebot.com/uc.js"></script>'

test.each<[string, string, Partial<KnownSettings> | undefined, string | undefined]>([
  ['unknown settings', TOOL, undefined, 'note consent-found'],
  ['a key that does not wait', TOOL, {}, 'warning consent-ignored'],
  ['a key that reads it', TOOL, { consent: 'required', sources: ['cookiebot'] }, 'ok consent-ok'],
  [
    'a key that reads every tool',
    TOOL,
    { consent: 'required', sources: ['auto'] },
    'ok consent-ok',
  ],
  [
    'a key that reads another',
    TOOL,
    { consent: 'required', sources: ['onetrust'] },
    'warning consent-other',
  ],
  ['a key with buttons', TOOL, { consent: 'required' }, 'warning consent-other'],
  [
    'a key that waits for a tool that is not there',
    '',
    { consent: 'required', sources: ['onetrust'] },
    'note consent-missing',
  ],
  ['no tool and no question', '', {}, undefined],
])('consent: %s', async (_, html, settings, expected) => {
  const codes = await codesOf(html + TAG, {}, { settings })
  expect(codes.filter((code) => code.includes('consent'))).toEqual(expected ? [expected] : [])
})

test('the fix of a consent tool is the command that reads it', async () => {
  const { report } = await check({ [SHOP]: TOOL + TAG }, { settings: {} })
  expect(report.findings.find(({ code }) => code === 'consent-ignored')?.fix).toEqual([
    `npx shoptrail customer set ID --config '{"consent":"required","consentSources":["cookiebot"]}'`,
  ])
})

test.each<[string, string, Partial<KnownSettings> | undefined, string | undefined]>([
  [
    'a plugin',
    `<script>dataLayer.push({'event':'__sm__view_product'})</script>`,
    {},
    'ok plugin-found',
  ],
  [
    'a plugin that is not read',
    `<script>dataLayer.push({event:"__sm__x"})</script>`,
    { dataLayer: false },
    'warning plugin-unread',
  ],
  [
    'GA4',
    '<script async src="https://tags.example/gtag/js?id=G-X"></script>',
    {},
    'note ga4-found',
  ],
  ['GA4 that is read', `<script>gtag('event','view_item')</script>`, { ga4: true }, 'ok ga4-read'],
  [
    'another name of the array',
    `<script>(function(w,d,s,l,i){})(window,document,'script','layer2','GTM-ABCD')</script>`,
    { ga4: true },
    'warning layer-name',
  ],
  [
    'the same name',
    `<script>(function(w,d,s,l,i){})(window,document,'script','layer2','GTM-ABCD')</script>`,
    { ga4: true, dataLayerName: 'layer2' },
    'ok ga4-read',
  ],
  [
    'schema.org',
    '<script type="application/ld+json">{"@type":"Product"}</script>',
    {},
    'note schema-found',
  ],
  [
    'schema.org that is read',
    '<div itemtype="http://schema.org/Product">',
    { schemaOrg: true },
    'ok schema-read',
  ],
  ['attributes', '<button data-track="addToCart">', {}, 'ok attributes-found'],
  ['a misspelled helper', '<b data-track="viewProdct">', {}, 'warning attribute-helper'],
  ['data-track of another script', '<b data-track="hero">', {}, 'note attribute-other'],
  ['a misspelled attribute', '<b data-track-quantiy="2">', {}, 'warning attribute-name'],
  ['an attribute of another script', '<b data-track-category="2">', {}, undefined],
  ['what it is made with', '<meta name=generator content="Shop 9">', {}, 'note generator'],
  ['nothing', '<p>', {}, undefined],
])('what the page already says: %s', async (_, html, settings, expected) => {
  const codes = await codesOf(html + TAG, {}, { settings })
  const others = codes.filter((code) => code !== 'ok tag-ok')
  expect(others).toEqual(expected ? expect.arrayContaining([expected]) : [])
})

test('misspelled attributes have the right ones as their fix, and do not count as found', async () => {
  const html = `${TAG}<main data-track="viewProdct"><b data-track=search data-track-quantiy=2></b></main>`
  const { report } = await check({ [SHOP]: html })
  const own = report.findings.filter(({ code }) => code.startsWith('attribute'))
  expect(own.map(({ code, message, fix }) => [code, message, ...fix])).toEqual([
    [
      'attribute-helper',
      'data-track="viewProdct" names no helper, so the script does not report it.',
      'data-track="viewProduct"',
    ],
    ['attribute-name', 'The script does not read data-track-quantiy.', 'data-track-quantity'],
    ['attributes-found', 'The page has elements with data-track.'],
  ])
  const { codes } = await check({ [SHOP]: `${TAG}<b data-track="viewProdct"></b>` })
  expect(codes).not.toContain('ok attributes-found')
})

test('the most serious findings come first', async () => {
  const codes = await codesOf(
    `<meta name=generator content=x>${TAG}${TAG}`,
    { 'content-security-policy': "connect-src 'none'" },
    WANTED,
  )
  expect(codes.map((code) => code.split(' ')[0])).toEqual(['error', 'warning', 'note', 'ok'])
})
