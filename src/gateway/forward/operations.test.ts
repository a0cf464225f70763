import { expect, test } from 'vitest'
import { RECORD_OPERATIONS } from '../../contract/recordOperations.ts'
import {
  describeOperations,
  EVENT_OPERATIONS,
  isAmong,
  LOG_OPERATIONS,
  type LogOperation,
  readOperations,
} from './operations.ts'

test.each<[words: readonly string[], operations: readonly string[], description: string]>([
  [['events'], [], 'all events, no orders and subscribers'],
  [['all'], LOG_OPERATIONS, 'all events, orders and subscribers'],
  [['events', 'saveOrder'], [...EVENT_OPERATIONS, 'saveOrder'], 'all events, saveOrder'],
  [['saveOrder', 'search', 'saveOrder'], ['saveOrder', 'search'], 'saveOrder, search'],
  [['serch'], ['serch'], 'serch'],
])('--operation %j', (words, operations, description) => {
  expect(readOperations(words)).toEqual(operations)
  expect(describeOperations(operations as readonly LogOperation[])).toBe(description)
})

test('a destination that names no operations gets every event, and no order and subscriber', () => {
  expect(LOG_OPERATIONS.filter((operation) => isAmong([], operation))).toEqual(EVENT_OPERATIONS)
  expect(LOG_OPERATIONS.filter((operation) => isAmong(RECORD_OPERATIONS, operation))).toEqual(
    RECORD_OPERATIONS,
  )
})
