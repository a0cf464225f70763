// @vitest-environment happy-dom

import { expect, test } from 'vitest'
import { findMissing, findMisspelled } from './findMissing.ts'

test.each([
  ['a field that exists', '<input id="qty"><button data-track-quantity-from="#qty"></button>', []],
  [
    'a selector without a match',
    '<input id="qty"><button data-track-quantity-from="#qyt"></button>',
    ['data-track-quantity-from="#qyt"'],
  ],
  [
    'a selector of an ancestor without a match',
    '<div data-track-quantity-from=".q"><button></button></div>',
    ['data-track-quantity-from=".q"'],
  ],
  [
    'a value in another attribute',
    '<div data-track-quantity="2"><button data-track-quantity-from="#qyt"></button></div>',
    [],
  ],
  [
    'only a field that is never read',
    '<input type="password" id="p"><button data-track-source-from="#p"></button>',
    ['data-track-source-from="#p"'],
  ],
  [
    'an invalid selector',
    '<button data-track-source-from="#["></button>',
    ['data-track-source-from="#["'],
  ],
])('%s', (_what, html, missing) => {
  document.body.innerHTML = html
  expect(findMissing(document.querySelector('button') as Element)).toEqual(missing)
})

test('also outside a shadow root', () => {
  document.body.innerHTML = '<input id="qty"><x-buy></x-buy>'
  const root = document.querySelector('x-buy')?.attachShadow({ mode: 'open' }) as ShadowRoot
  root.innerHTML = '<button data-track-quantity-from="#qty"></button>'
  expect(findMissing(root.querySelector('button') as Element)).toEqual([])
})

test('misspelled attributes, also around the element, each once', () => {
  document.body.innerHTML = `<div data-track-quantiy="2" data-track-category="x">
    <p data-track-quantiy="3" data-track-productid="12"><button data-track="addToCart"></button></p></div>`
  expect(findMisspelled(document.querySelector('button') as Element)).toEqual([
    'data-track-quantiy is not read. Did you mean data-track-quantity?',
    'data-track-productid is not read. Did you mean data-track-product-id?',
  ])
})
