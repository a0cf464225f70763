import { expect, test } from 'vitest'
import { dayOf } from '../customers/usage.ts'
import { decodeUsage, encodeUsage, type UsageReport } from './usageMessage.ts'
import { createUsageSums } from './usageSums.ts'

const NOON = Date.UTC(2026, 10, 29, 12)
const DAY_MS = 86_400_000
const day = dayOf(NOON)
const stored = (seq: number, customer = 'a', receivedAt = NOON, isServer = false) => ({
  ...{ customer, receivedAt, isServer, bytes: 10, seq },
})
const usage = (events: number, customer = 'a', isServer = false) => ({
  ...{ customer, day, isServer, events, bytes: events * 10 },
})

test.each([
  ['one by one', undefined],
  ['summed up', 0],
])('an own event is counted once, before and after the follower has counted it: %s', (_, max) => {
  const sums = createUsageSums(max)
  expect(sums.count(0, [stored(5), stored(7)])).toEqual([usage(2)])
  expect(sums.count(1, [stored(5, 'b')])).toEqual([usage(1, 'b')])
  // Other gateways have stored 1 to 4 and 6.
  expect(sums.learn(0, { position: 4, usages: [usage(4)] })).toEqual([usage(6)])
  expect(sums.learn(0, { position: 7, usages: [usage(7)] })).toEqual([usage(7)])
  expect(sums.count(0, [stored(8)])).toEqual([usage(8)])
  expect(sums.all()).toEqual([usage(8), usage(1, 'b')])
})

test('the follower may count an event before its acknowledgement arrives', () => {
  const sums = createUsageSums()
  sums.learn(0, { position: 9, usages: [usage(9)] })
  expect(sums.count(0, [stored(9)])).toEqual([usage(9)])
})

test('an id that comes again after the duplicate window is counted until the follower has found it', () => {
  const sums = createUsageSums()
  sums.learn(0, { position: 3, usages: [usage(3)] })
  expect(sums.count(0, [stored(4)])).toEqual([usage(4)])
  expect(sums.learn(0, { position: 4, usages: [] })).toEqual([usage(3)])
})

test('what servers have sent is summed apart', () => {
  const sums = createUsageSums()
  const own = [stored(4), stored(5, 'a', NOON, true)]
  expect(sums.count(0, own)).toEqual([usage(1), usage(1, 'a', true)])
  const counted = { position: 4, usages: [usage(1), usage(3, 'a', true)] }
  expect(sums.learn(0, counted)).toEqual([usage(1), usage(4, 'a', true)])
  expect(sums.all()).toEqual([usage(1), usage(4, 'a', true)])
})

test('only today and yesterday are kept', () => {
  const sums = createUsageSums()
  for (const ago of [2, 1, 0]) sums.count(0, [stored(3 - ago, 'a', NOON - ago * DAY_MS)])
  expect(sums.all().map((one) => one.day)).toEqual([day - 1, day])
  sums.count(0, [stored(4, 'a', NOON + DAY_MS)])
  expect(sums.all().map((one) => one.day)).toEqual([day, day + 1])
  sums.learn(0, { position: 4, usages: [] })
})

test('a report survives its message, and other messages are ignored', () => {
  const decode = (report: UsageReport) => decodeUsage(Buffer.from(encodeUsage(report)))
  const report = { position: 7, usages: [usage(7), usage(1, 'b')] }
  expect(decode(report)).toEqual(report)
  expect(decodeUsage(Buffer.from('{}'))).toBeUndefined()
  expect(decode({ ...report, position: Number.NaN })).toBeUndefined()
  const usages = [usage(7), { ...usage(1), events: '1' as unknown as number }, null as never]
  expect(decode({ ...report, usages })?.usages).toEqual([usage(7)])
  // Of a follower of an earlier version.
  const { isServer, ...earlier } = usage(7)
  const message = Buffer.from(JSON.stringify({ position: 7, usages: [earlier] }))
  expect(decodeUsage(message)?.usages).toEqual([{ ...earlier, isServer }])
})
