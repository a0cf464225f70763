import { expect, test } from 'vitest'
import { stillOf } from './still.js'

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
])('%s', (html, still) => {
  expect(stillOf(html)).toMatch(/^<!doctype html><style>/)
  expect(stillOf(html).endsWith(`</style>${still}`)).toBe(true)
})

test('a picture from elsewhere leaves its place, one that is in the HTML stays', () => {
  const [foreign, own] = [
    '<img width="20" src="https://a.example/p.gif">',
    '<img src="data:image/png;base64,AA">',
  ]
  expect(stillOf(foreign)).toMatch(/<img src="data:image\/svg[^"]*" width="20">$/)
  expect(stillOf(own).endsWith(own)).toBe(true)
})

test('what is neither is left alone', () => {
  const html = '<h1 style="color: teal">5 < 6 & on=1</h1>\n<p title="src = x">data</p>'
  expect(stillOf(html).endsWith(`</style>${html}`)).toBe(true)
})

test('the worst that a megabyte can be is no trouble', () => {
  for (const piece of ['<a ', '<a "', '<script', 'url(', '<p on=', ' onx=', '@import'])
    expect(stillOf(piece.repeat(2 ** 20 / piece.length))).toContain('<!doctype html>')
})
