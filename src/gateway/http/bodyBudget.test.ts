import { expect, test } from 'vitest'
import { createBodyBudget } from './bodyBudget.ts'

test('one address gets a quarter, all together the whole', () => {
  const { lease } = createBodyBudget(100)
  const leases = ['a', 'b', 'c', 'd'].map(lease)
  expect(leases.map(({ grow }) => grow(25))).toEqual([true, true, true, true])
  expect(lease('a').grow(1)).toBe(false)
  expect(lease('e').grow(1)).toBe(false)
  leases[0]?.release()
  leases[0]?.release()
  expect(lease('e').grow(26)).toBe(false)
  expect(lease('a').grow(25)).toBe(true)
  expect(lease('e').grow(1)).toBe(false)
})

test('a body above the share, or above the whole budget, fits alone, also if it grows', () => {
  const { lease } = createBodyBudget(100)
  const alone = lease('a')
  expect([alone.grow(90), alone.grow(910)]).toEqual([true, true])
  expect(lease('b').grow(1)).toBe(false)
  expect(lease('a').grow(1)).toBe(false)
  alone.release()
  const next = lease('b')
  expect(next.grow(50)).toBe(true)
  expect(lease('b').grow(1)).toBe(false)
  expect(lease('c').grow(50)).toBe(true)
  // A refused lease holds no more than before.
  expect(next.grow(1)).toBe(false)
  next.release()
  expect(lease('d').grow(25)).toBe(true)
})

test('a released lease starts again from zero', () => {
  const { lease } = createBodyBudget(100)
  const one = lease('a')
  one.grow(80)
  one.release()
  expect(lease('b').grow(100)).toBe(true)
  expect(one.grow(1)).toBe(false)
})
