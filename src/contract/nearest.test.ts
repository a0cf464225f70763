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
])('the name nearest to %s is %s', (written, expected) => {
  expect(nearest(written, NAMES, 4)).toBe(expected)
})

test('a name that differs by more letters is not suggested', () => {
  expect(nearest('addToBasket', NAMES, 3)).toBeUndefined()
})
