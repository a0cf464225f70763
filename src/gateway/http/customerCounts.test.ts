import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createCustomerCounts } from './customerCounts.ts'

test('the busiest customers are shown by name, and the others in one sum', () => {
  const counts = createCustomerCounts(2)
  counts.count('a', 'stored', 1)
  counts.count('b', 'refused', 2)
  counts.count('c', 'stored', 10)
  counts.count(undefined, 'refused', 5)
  // c was counted as another one until it was chosen.
  expect(Object.fromEntries(counts.choose())).toEqual({
    b: { stored: 0, refused: 2 },
    c: { stored: 0, refused: 0 },
    '(other)': { stored: 11, refused: 5 },
  })
  counts.count('c', 'stored', 3)
  counts.count('a', 'stored', 1)
  expect(Object.fromEntries(counts.choose())).toMatchObject({
    c: { stored: 3, refused: 0 },
    '(other)': { stored: 12, refused: 5 },
  })
})

test('no series ever falls, and the sum is exact', () => {
  const step = fc.oneof(
    fc.record({ customer: fc.nat(30), times: fc.nat(9), isStored: fc.boolean() }),
    fc.constant('choose' as const),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
      const counts = createCustomerCounts(4)
      const seen = new Map<string, number>()
      let sum = 0
      for (const one of [...steps, 'choose' as const]) {
        if (one !== 'choose') {
          counts.count(`${one.customer}`, one.isStored ? 'stored' : 'refused', one.times)
          sum += one.times
          continue
        }
        const chosen = counts.choose()
        expect(chosen.size).toBeLessThanOrEqual(5)
        for (const [name, { stored, refused }] of chosen) {
          expect(stored + refused).toBeGreaterThanOrEqual(seen.get(name) ?? 0)
          seen.set(name, stored + refused)
        }
      }
      expect([...seen.values()].reduce((a, b) => a + b, 0)).toBe(sum)
    }),
  )
})

test('above a number of customers further ones are counted together, until some are forgotten', () => {
  const counts = createCustomerCounts(2, 4)
  for (const customer of 'aabbccdd') counts.count(customer, 'stored', 1)
  counts.count('e', 'stored', 100)
  expect([...counts.choose().keys()]).toEqual(['a', 'b', '(other)'])
  counts.count('e', 'stored', 100)
  expect([...counts.choose().keys()]).toEqual(['e', 'a', '(other)'])
})
