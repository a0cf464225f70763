import { expect, test } from 'vitest'
import { nearest } from './nearest.ts'

const NAMES = ['addToCart', 'addToWishlist', 'search', 'viewProduct', 'set_email']

test.each([
  ['addtocart', 'addToCart'],
  ['add-to-cart', 'addToCart'],
  ['addToBasket', 'addToCart'],
  ['viewProdct', 'viewProduct'],
  ['setEmail', 'set_email'],
  ['serach', 'search'],
  ['', undefined],
  ['x', undefined],
  ['pageview', undefined],
])('%s was meant to be %s', (written, meant) => {
  expect(nearest(written, NAMES)).toBe(meant)
})
