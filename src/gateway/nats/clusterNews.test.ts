import { expect, test } from 'vitest'
import { type ClusterNews, newsLine } from './clusterNews.ts'

const NEWS: readonly ClusterNews[] = [
  { what: 'disconnected' },
  { what: 'connected' },
  { what: 'closed_off', partition: 3 },
  { what: 'writable', partition: 3 },
  { what: 'held', partition: 3, isTakeOver: false },
  { what: 'held', partition: 3, isTakeOver: true },
  { what: 'given_up', partition: 3 },
  { what: 'lost', partition: 3 },
  { what: 'differs', partition: 3, seq: 7, fault: 'lacks' },
  { what: 'differs', partition: 3, seq: 7, fault: 'other' },
  { what: 'same_again', partition: 3 },
]

test('each change has a line of its own, and a warning only if an operator should look', () => {
  const lines = NEWS.map(newsLine)
  expect(new Set(lines.map(({ message }) => message)).size).toBe(NEWS.length)
  expect(lines.map(({ level, partition }) => [level, partition])).toEqual([
    ['warn', undefined],
    ['info', undefined],
    ['warn', 3],
    ['info', 3],
    ['info', 3],
    ['info', 3],
    ['info', 3],
    ['warn', 3],
    ['error', 3],
    ['error', 3],
    ['info', 3],
  ])
})
