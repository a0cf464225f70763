import { expect, test } from 'vitest'
import { findLinks } from './findLinks.ts'
import { readPage } from './readPage.ts'

const find = (links: readonly string[], html = '', home = 'https://www.shop.example/') =>
  findLinks(readPage(links.map((href) => `<a href="${href}">x</a>`).join('') + html, home)).map(
    ({ kind, url }) => `${kind} ${url.replace('https://www.shop.example', '')}`,
  )

test('one page of each kind', () => {
  const links = [
    '/',
    '/about',
    '/product/mug-1/',
    '/product/mug-2/',
    '/product-category/mugs/',
    '/cart/',
    '/checkout/',
  ]
  expect(find(links, '<form action="/"><input type=search name=s></form>')).toEqual([
    'category /product-category/mugs/',
    'cart /cart/',
    'checkout /checkout/',
    'product /product/mug-1/',
    'search /?s=test',
  ])
})

test.each([
  ['/products/mug', 'product'],
  ['/de/produkt/tasse', 'product'],
  ['/12-blue-mug.html', 'product'],
  ['/blue-mug-p12', 'product'],
  ['/blue-mug-of-clay.html', 'product'],
  ['/collections/mugs', 'category'],
  ['/category.html', 'category'],
  ['/3-mugs', 'category'],
  ['/warenkorb', 'cart'],
  ['/checkout/cart/', 'cart'],
  ['/cart.php', 'cart'],
  ['/onepage', 'checkout'],
  ['https://checkout.shop.example/checkout', 'checkout'],
  ['https://shop.example/cart', 'cart'],
])('%s is a page of the kind %s', (link, kind) => {
  expect(find([link])).toEqual([`${kind} ${link}`])
})

test.each([
  '/product/mug?add-to-cart=12',
  '/cart/add/12',
  '/cart/remove',
  '/checkout?x',
  '/products/logout',
  'https://other.example/product/mug',
  'https://notshop.example/cart',
  '/discart',
  '/wishlist.html',
  '/privacy-policy.html',
  '/contact-us.html',
  '/my-account.html',
  '/',
  '#cart',
  'mailto:cart@shop.example',
])('%s is not read', (link) => {
  expect(find([link])).toEqual([])
})

test('a search on another host is not read', () => {
  expect(find([], '<form action="https://other.example/find"><input name=q></form>')).toEqual([])
})
