import { expect, test } from 'vitest'
import {
  DEFAULT_ORDER_SETTINGS,
  readCurrency,
  readRefundStatus,
  readTimeZone,
} from './orderSettings.ts'

test.each([
  ['EUR', 'EUR'],
  [' ron ', 'RON'],
  ['jpy', 'JPY'],
  ['KWD', 'KWD'],
  ['', undefined],
  ['EURO', undefined],
  ['E', undefined],
  ['ZZZ', undefined],
  ['XXX', undefined],
  ['XAU', undefined],
  ['€', undefined],
])('the currency %j is %j', (text, code) => {
  expect(readCurrency(text)).toBe(code)
})

test.each([
  ['UTC', 'UTC'],
  ['utc', 'UTC'],
  [' europe/bucharest', 'Europe/Bucharest'],
  ['America/Argentina/Buenos_Aires', 'America/Argentina/Buenos_Aires'],
  ['Europe/Kyiv', 'Europe/Kyiv'],
  ['', undefined],
  ['Europe', undefined],
  ['Europe/Nowhere', undefined],
  ['+02:00', undefined],
  ['-0300', undefined],
  ['constructor', undefined],
  [`Europe/${'x'.repeat(100)}`, undefined],
])('the time zone %j is %j, also when it is asked again', (text, zone) => {
  expect(readTimeZone(text)).toBe(zone)
  expect(readTimeZone(text)).toBe(zone)
})

test.each([
  [' Refunded ', 'refunded'],
  ['RETURNATĂ', 'returnată'],
  ['wc-cancelled', 'wc-cancelled'],
  ['x'.repeat(100), 'x'.repeat(100)],
  ['x'.repeat(101), undefined],
  ['  ', undefined],
])('the refund status %j is %j', (text, status) => {
  expect(readRefundStatus(text)).toBe(status)
})

test('the defaults are as they would be read', () => {
  const { currency, timeZone, refundStatuses } = DEFAULT_ORDER_SETTINGS
  expect(readCurrency(currency)).toBe(currency)
  expect(readTimeZone(timeZone)).toBe(timeZone)
  expect(refundStatuses.map(readRefundStatus)).toEqual(refundStatuses)
})
