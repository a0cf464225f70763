import { expect, test } from 'vitest'
import { describeQuota } from './quota.ts'

const MILLION = 1e6
const GIB = 2 ** 30
const use = (events: number, bytes: number) => ({
  events: { used: events, limit: 10 * MILLION },
  bytes: { used: bytes, limit: 20 * GIB },
})
const UNUSED = use(0, 0)
const say = (events: number, bytes: number, secondsLeft = 7_500) =>
  describeQuota({ ...use(events, bytes), servers: UNUSED, secondsLeft })
const sayOfServers = (events: number, bytes: number) =>
  describeQuota({ ...use(8 * MILLION, 0), servers: use(events, bytes), secondsLeft: 3_600 })

test('no notice while enough of the quota is left', () => {
  expect(say(0, 0)).toBeUndefined()
  expect(say(7_999_999, 15.9 * GIB)).toBeUndefined()
})

test('from 80 % on, the notice shows the used share of events or of bytes, the higher one', () => {
  expect(say(8_390_000, 0)).toEqual({
    state: 'near',
    text: '83 % of today’s 10 million events are used. Above that, new events wait in the pages until midnight UTC, in 2 h 5 min.',
  })
  expect(say(8_000_000, 19 * GIB)?.text).toMatch(/^95 % of today’s 20 GiB of events are used\./)
  expect(say(9_999_999, 0)?.text).toMatch(/^99 %/)
})

test('when the quota is reached, the notice says that pages keep their events', () => {
  expect(say(10_000_004, 0, 60)).toEqual({
    state: 'reached',
    text: 'Today’s 10 million events are used up. New events are refused until midnight UTC, in a minute; pages keep theirs and send them then.',
  })
  expect(say(9_000_000, 20 * GIB)?.text).toMatch(/^Today’s 20 GiB of events are used up\./)
})

test('servers have a notice of their own when they have used more than the pages', () => {
  expect(sayOfServers(7 * MILLION, 0)?.text).toMatch(/^80 % of today’s 10 million events are used/)
  expect(sayOfServers(9 * MILLION, 0)).toEqual({
    state: 'near',
    text: '90 % of today’s 10 million calls of servers are used. Above that, orders and subscribers are refused until midnight UTC, in 1 h 0 min.',
  })
  expect(sayOfServers(0, 20 * GIB)).toEqual({
    state: 'reached',
    text: 'Today’s 20 GiB of calls of servers are used up. Orders and subscribers are refused until midnight UTC, in 1 h 0 min.',
  })
})

test.each([
  [5, '5 events'],
  [50_000, '50,000 events'],
  [1_250_000, '1.3 million events'],
])('%d events are written as %s', (limit, written) => {
  const quota = { ...UNUSED, events: { used: limit, limit }, servers: UNUSED, secondsLeft: 1 }
  expect(describeQuota(quota)?.text).toContain(`Today’s ${written} are`)
})

test.each([
  [1_000, '1,000 bytes'],
  [1.5 * 2 ** 20, '1.5 MiB'],
  [3_000 * GIB, '2.9 TiB'],
])('%d bytes are written as %s', (limit, written) => {
  const quota = { ...UNUSED, bytes: { used: limit, limit }, servers: UNUSED, secondsLeft: 1 }
  expect(describeQuota(quota)?.text).toContain(`Today’s ${written} of`)
})

test.each([
  [1, 'a minute'],
  [120, '2 minutes'],
  [3_600, '1 h 0 min'],
  [86_400, '24 h 0 min'],
])('%d seconds: %s', (seconds, written) => {
  expect(say(10 * MILLION, 0, seconds)?.text).toContain(`in ${written};`)
})
