import { expect, test } from 'vitest'
import { isSeen, type Sight, THRESHOLDS } from './isSeen.ts'

const SCREEN = { width: 1000, height: 800 }
const size = (width: number, height: number) => ({ width, height })

test.each([
  ['half of a small one', size(100, 100), size(100, 50), true],
  ['less than half', size(100, 100), size(100, 49), false],
  ['a corner', size(100, 100), size(60, 60), false],
  ['half of the screen, by a section of ten screens', size(1000, 8000), size(1000, 400), true],
  ['less than half of the screen', size(1000, 8000), size(1000, 399), false],
  ['half of the screen in height, by a column', size(200, 8000), size(200, 400), true],
  ['one and a half screens high, half of the screen', size(1000, 1200), size(1000, 400), true],
  ['a row of cards wider than the screen', size(5000, 200), size(1000, 100), true],
  ['a corner of what is larger than the screen', size(5000, 5000), size(600, 400), false],
])('%s', (_what, boundingClientRect, intersectionRect, expected) => {
  const sight = { boundingClientRect, intersectionRect, isIntersecting: true }
  expect(isSeen({ ...sight, rootBounds: SCREEN }, size(1, 1))).toBe(expected)
  // In a frame of another origin the entry has no `rootBounds`.
  expect(isSeen({ ...sight, rootBounds: null }, SCREEN)).toBe(expected)
})

test('an element without an area is seen while it is on screen', () => {
  const nothing = size(0, 0)
  const sight: Sight = {
    boundingClientRect: nothing,
    intersectionRect: nothing,
    isIntersecting: true,
    rootBounds: SCREEN,
  }
  expect(isSeen(sight, SCREEN)).toBe(true)
  expect(isSeen({ ...sight, isIntersecting: false }, SCREEN)).toBe(false)
})

test('the thresholds include one half, and are close to each other down to a thousandth', () => {
  expect(THRESHOLDS).toContain(0.5)
  expect(Math.min(...THRESHOLDS)).toBeLessThan(0.0011)
  expect(Math.max(...THRESHOLDS)).toBe(1)
  for (const [index, ratio] of THRESHOLDS.slice(1).entries())
    expect(ratio / (THRESHOLDS[index] as number)).toBeGreaterThan(0.978)
})
