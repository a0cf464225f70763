import { expect, test } from 'vitest'
import { DEFAULT_ORDER_SETTINGS } from './customers/orderSettings.ts'
import { readOrderOptions } from './orderOptions.ts'

const { refundStatuses } = DEFAULT_ORDER_SETTINGS

test.each<[readonly string[], readonly string[] | null]>([
  [['default'], null],
  [['none'], []],
  [
    ['Rambursat', ' RETUR '],
    ['rambursat', 'retur'],
  ],
  [
    ['default', 'Rambursat', 'refunded'],
    [...refundStatuses, 'rambursat'],
  ],
  [
    ['Rambursat', 'default'],
    ['rambursat', ...refundStatuses],
  ],
])('the refund statuses %j are %j', (texts, statuses) => {
  expect(readOrderOptions({ 'refund-status': [...texts] })).toEqual({
    ok: true,
    change: { refundStatuses: statuses },
  })
})

test('no statuses and some at once are refused', () => {
  expect(readOrderOptions({ 'refund-status': ['none', 'Rambursat'] })).toMatchObject({
    ok: false,
    lines: [expect.stringContaining('Expected --refund-status none without others')],
  })
})
