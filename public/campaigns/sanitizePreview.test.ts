import { expect, test } from 'vitest'
import { sanitizePreview } from './sanitizePreview.ts'

test.each([
  ['<script>alert(1)</script>x', 'x'],
  ['<SCRIPT src=a>alert(1)</SCRIPT >x', 'x'],
  ['x<script>never closed', 'x'],
  ['<iframe src="https://a.example"></iframe>x', 'x'],
  ['<link rel=stylesheet href=a.css><meta http-equiv=refresh content="0;url=a">x', 'x'],
  ['<p onclick="go()" class="a" onmouseover=go()>x</p>', '<p class="a">x</p>'],
  ["<a href='https://a.example/?a=1' ping=b>x</a>", '<a>x</a>'],
  [
    '<p style="background: url(https://a.example/x.png)">x</p>',
    '<p style="background: none">x</p>',
  ],
  ['<style>@import "a.css";p{color:red}</style>x', '<style>nonep{color:red}</style>x'],
  ['<table background="a.png"><td>x</td></table>', '<table><td>x</td></table>'],
  ['<a/href="https://a.example/?a=1"/class=b>x</a>', '<a/class=b>x</a>'],
  ['<a title="t"href=//a.example>x</a>', '<a title="t">x</a>'],
  ['<p/onclick=go()/a title=x>x</p>', '<p title=x>x</p>'],
  [
    '<p style="background: url( \'https://a.example/x.png\' )">x</p>',
    '<p style="background: none">x</p>',
  ],
])('%s', (html, sanitized) => {
  expect(sanitizePreview(html)).toMatch(/^<!doctype html><style>/)
  expect(sanitizePreview(html).endsWith(`</style>${sanitized}`)).toBe(true)
})

test('an external picture becomes a placeholder, one inside the HTML stays', () => {
  const [foreign, own] = [
    '<img width="20" src="https://a.example/p.gif">',
    '<img src="data:image/png;base64,AA">',
  ]
  expect(sanitizePreview(foreign)).toMatch(/<img src="data:image\/svg[^"]*" width="20">$/)
  expect(sanitizePreview(own).endsWith(own)).toBe(true)
})

test('a data: picture is not changed, whatever its data looks like', () => {
  for (const own of [
    '<img src="data:image/png;base64,AA/src=/onload==">',
    '<p style="background: url( data:image/png;base64,AA==)">x</p>',
  ])
    expect(sanitizePreview(own).endsWith(own)).toBe(true)
})

test('harmless HTML is not changed', () => {
  const html =
    '<h1 style="color: teal">5 < 6 & on=1</h1>\n<p title="src = x"  lang=\'a/onx=1\'>data</p><br/>'
  expect(sanitizePreview(html).endsWith(`</style>${html}`)).toBe(true)
})

// A pattern that takes quadratic time would take minutes here, and the test's time limit would fail it.
const MUCH = 2 ** 20
const SPACES = ' '.repeat(MUCH / 4)
test.each([
  ...[
    '<a ',
    '<a "',
    '<script',
    'url(',
    '<p on=',
    ' onx=',
    '@import',
    '</script',
    '<a/',
    '<a b="',
  ].map((piece) => [piece, piece.repeat(MUCH / piece.length)]),
  ...[
    ['url(', ''],
    ["url('", ''],
    ['@import', ''],
    ['<script></script', 'x'],
    ['<a', '>'],
    ['<a b', '>'],
    ['<a b', '="'],
    ['<a src', '>'],
    ['<a src=', '>'],
    ['<a src="', '>'],
    ['<a onx=', 'y>'],
    ['<a onx', '=>'],
    ['<link', ''],
    ['<iframe ', '</iframe'],
  ].map(([before, after]) => [`${before}spaces${after}`, before + SPACES + after]),
  ['slashes', `<a${'/'.repeat(MUCH)}>`],
  ['quotes', `<a ${'"\''.repeat(MUCH / 2)}>`],
  ['equals', `<a ${'='.repeat(MUCH)}>`],
  ['a name', `<a ${'x'.repeat(MUCH)}>`],
  ['a handler', `<a on${'x'.repeat(MUCH)} >`],
])('the sanitizer stays fast on 1 MB of %s', (_, html) => {
  expect(sanitizePreview(html)).toContain('<!doctype html>')
})
