import { expect, test } from 'vitest'
import { decodePage, readPage } from './readPage.ts'

const read = (html: string) => readPage(html, 'https://shop.example/a/b?c')
const srcs = (html: string) => read(html).scripts.map(({ src, place }) => [src, place])

test.each<[string, string, [string | undefined, string][]]>([
  ['a tag', '<script src="/x.js"></script>', [['https://shop.example/x.js', 'page']]],
  [
    'without quotes',
    '<SCRIPT SRC=//cdn.example/x.js?a&amp;b></SCRIPT>',
    [['https://cdn.example/x.js?a&b', 'page']],
  ],
  [
    'after a base',
    '<base href="https://cdn.example/d/"><base href="/e/"><script src=x.js></script>',
    [['https://cdn.example/d/x.js', 'page']],
  ],
  [
    'in a comment',
    '<!-- <script async src="/x.js"></script> -->',
    [['https://shop.example/x.js', 'comment']],
  ],
  [
    'in noscript',
    '<noscript><script src="/x.js"></script></noscript><script src="/y.js"></script>',
    [
      ['https://shop.example/x.js', 'noscript'],
      ['https://shop.example/y.js', 'page'],
    ],
  ],
  [
    'in a template',
    '<template><div><script src="/x.js"></script></div></template>',
    [['https://shop.example/x.js', 'template']],
  ],
  [
    'in the text of a script',
    '<script>var a = "<script src=/x.js>"</script>',
    [[undefined, 'page']],
  ],
  ['in a textarea', '<textarea><script src="/x.js"></script></textarea>', []],
  ['in a title', '<title><script src="/x.js"></script></title>', []],
  ['in a style', '<style><script src="/x.js"></script></style>', []],
  ['with an address that is none', '<script src="http://["></script>', [[undefined, 'page']]],
  [
    'between unclosed elements',
    '<div><p><b><i></div></p></x><script src="/x.js"></script>',
    [['https://shop.example/x.js', 'page']],
  ],
])('scripts: %s', (_, html, expected) => {
  expect(srcs(html)).toEqual(expected)
})

test('a script has its attributes and its text', () => {
  const [first, second] = read(
    '<script async data-x="1 &amp; 2" SRC="/x.js">ignored</script><script nonce=n>a < b && "</p>"</script>',
  ).scripts
  expect(first?.attributes).toEqual({ async: '', 'data-x': '1 & 2', src: '/x.js' })
  expect(second).toMatchObject({ text: 'a < b && "</p>"', attributes: { nonce: 'n' } })
})

test('policies in the page, with the scripts that they do not bind', () => {
  const { metaPolicies } = read(
    `<script></script><meta http-equiv="content-security-POLICY" content="script-src 'self'">
     <noscript><meta http-equiv="Content-Security-Policy" content="default-src 'none'"></noscript>
     <meta http-equiv="Content-Security-Policy-Report-Only" content="default-src *">`,
  )
  expect(metaPolicies).toEqual([{ text: "script-src 'self'", scriptsBefore: 1 }])
})

test('links of http, each once, without fragment', () => {
  const { links } = read(
    '<a href="/p/1#top">1</a><a href="/p/1">1</a><a href="mailto:a@b.example">m</a><a href="javascript:x">j</a><a>0</a><a href="http://[">x</a>',
  )
  expect(links).toEqual(['https://shop.example/p/1'])
})

test.each([
  [
    '<form action="/find?old=1#x"><input type=search name=term></form>',
    ['https://shop.example/find?term=test'],
  ],
  ['<form><input type=hidden name=lang><input name=q></form>', ['https://shop.example/a/b?q=test']],
  ['<form method=POST action="/find"><input type=search name=q></form>', []],
  ['<form action="/subscribe"><input type=email name=email></form>', []],
  ['<input type=search name=q>', []],
  ['<form action="javascript:find()"><input type=search name=q></form>', []],
])('searches of %s', (html, expected) => {
  expect(read(html).searches).toEqual(expected)
})

test.each([
  ['<div itemscope itemtype="https://schema.org/Product">', true],
  ['<script type="application/ld+json">{"@type": "Product"}</script>', true],
  ['<script type="application/ld+json">{"@type":["Product","Thing"]}</script>', true],
  ['<script type="application/ld+json">{"@type":["Thing",\n"Product"]}</script>', true],
  ['<script type="application/ld+json">{"@type":"ProductGroup"}</script>', true],
  ['<script type="application/ld+json">{"@type":"http://schema.org/Product"}</script>', true],
  ['<script type="application/ld+json">{"@type":"ProductCollection"}</script>', false],
  ['<div itemscope itemtype="http://schema.org/ProductGroup">', true],
  ['<script>{"@type":"Product"}</script>', false],
])('%s describes a product: %s', (html, expected) => {
  expect(read(html).hasProduct).toBe(expected)
})

test('generator', () => {
  expect(read('<meta name=Generator content=" Shop 9.1 ">').generator).toBe('Shop 9.1')
})

test('attributes of tracking, each once, and not more than 200', () => {
  const html = '<b data-track="search" data-track-on=load></b><i data-track DATA-TRACK-ON="click">'
  expect(read(html + html).trackAttributes).toEqual([
    ['data-track', 'search'],
    ['data-track-on', ''],
    ['data-track', ''],
  ])
  const many = Array.from({ length: 300 }, (_, n) => `<b data-track="${n}${'x'.repeat(90)}">`)
  const { trackAttributes } = read(many.join(''))
  expect([trackAttributes.length, trackAttributes[0]?.[1].length]).toEqual([200, 60])
})

test('a shop system names itself after the content system under it', () => {
  const html = '<meta name="generator" content="WordPress 6"><meta name=generator content="Shop 9">'
  expect(read(html).generator).toBe('WordPress 6, Shop 9')
  expect(read('<meta name=generator content=" ">').generator).toBeUndefined()
})

test.each([
  '',
  '\0',
  '<',
  '<!--',
  '<script',
  '<script>',
  '<a href=',
  '&#xffffff;',
  '<svg><![CDATA[',
  '<b __proto__=x constructor=y>',
])('broken: %j', (html) => {
  expect(read(html)).toMatchObject({ isTooDeep: false })
})

test('a page that opens elements and closes others takes time in proportion to its length', () => {
  const hostile = '<div>'.repeat(200_000) + '</b>'.repeat(200_000)
  expect(read(hostile).isTooDeep).toBe(true)
  read(`<!--${'<script '.repeat(100_000)}-->`)
  expect(read('<br>'.repeat(50_000)).isTooDeep).toBe(false)
  expect(read('<p>'.repeat(50_000)).isTooDeep).toBe(false)
})

const bytes = (text: string, encoding: BufferEncoding = 'utf8') => Buffer.from(text, encoding)

test.each<[string, Uint8Array, string | undefined, string]>([
  ['UTF-8', bytes('ș'), undefined, 'ș'],
  ['the header', bytes('é', 'latin1'), 'text/html; charset="ISO-8859-1"', 'é'],
  [
    'a meta element',
    bytes('<meta charset=windows-1252>é', 'latin1'),
    'text/html',
    '<meta charset=windows-1252>é',
  ],
  [
    'a byte order mark',
    Buffer.concat([Buffer.from([0xff, 0xfe]), bytes('ș', 'utf16le')]),
    'text/html; charset=utf-8',
    'ș',
  ],
  ['one that does not exist', bytes('ș'), 'text/html; charset=klingon-8', 'ș'],
  [
    'one that is wrong',
    bytes('é<script src=/t/j/K>', 'latin1'),
    'text/html; charset=utf-8',
    '\ufffd<script src=/t/j/K>',
  ],
])('the charset of %s', (_, body, type, expected) => {
  expect(decodePage(body, type)).toBe(expected)
})
