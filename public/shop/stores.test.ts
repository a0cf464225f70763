// @vitest-environment happy-dom
import { beforeEach, expect, test } from 'vitest'
import { cart, wishlist } from './stores.ts'

beforeEach(() => {
  cart.clear()
  wishlist.clear()
})

test('the same variation added twice is one line', () => {
  cart.add(12, '12-1', 2)
  cart.add(12, '12-2', 1)
  cart.add(12, '12-1', 3)
  expect(cart.lines()).toEqual([
    { product: 12, variation: '12-1', quantity: 5 },
    { product: 12, variation: '12-2', quantity: 1 },
  ])
  expect(cart.count()).toBe(6)
})

test('a line whose quantity is set to 0 is removed', () => {
  cart.add(12, '12-1', 2)
  cart.set(12, '12-1', 1)
  expect(cart.count()).toBe(1)
  cart.set(12, '12-1', 0)
  expect(cart.lines()).toEqual([])
})

test('the wishlist is separate from the cart, and kept for the next page', () => {
  wishlist.add(45, '45')
  expect(wishlist.has(45, '45')).toBe(true)
  expect(cart.count()).toBe(0)
  expect(JSON.parse(localStorage.getItem('saltmarsh.wishlist') ?? '')).toHaveLength(1)
  wishlist.remove(45, '45')
  expect(wishlist.has(45, '45')).toBe(false)
})

test('invalid JSON in storage does not stop the shop', () => {
  cart.add(12, '12-1')
  localStorage.setItem('saltmarsh.cart', '{"half')
  expect(cart.count()).toBe(1)
})
