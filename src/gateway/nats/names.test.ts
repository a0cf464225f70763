import { expect, test } from 'vitest'
import { eventSubject, fromToken, partitionOf, toToken } from './names.ts'

test.each([
  ['demo', 'demo'],
  ['a.b', 'a=2eb'],
  ['A_b-9', 'A_b-9'],
  ['*>', '=2a=3e'],
  ['é 漢', '=c3=a9=20=e6=bc=a2'],
  ['a=2eb', 'a=3d2eb'],
])('%s as a token is %s', (text, token) => {
  expect(toToken(text)).toBe(token)
  expect(fromToken(token)).toBe(text)
})

test('a customer is always in the same partition, and customers are spread', () => {
  expect(partitionOf('demo', 4)).toBe(partitionOf('demo', 4))
  expect(eventSubject(1, 'a.b')).toBe('events.1.a=2eb')
  const counts = [0, 0, 0, 0]
  for (let i = 0; i < 4_000; i++)
    counts[partitionOf(`customer ${i}`, 4)] =
      (counts[partitionOf(`customer ${i}`, 4)] as number) + 1
  for (const count of counts) expect(count).toBeGreaterThan(850)
})
