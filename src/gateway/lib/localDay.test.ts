import { expect, test } from 'vitest'
import { localDayOf } from './localDay.ts'

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000

const dateOf = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10)

test.each([
  ['UTC', '2026-03-01T00:00:00Z'],
  ['Europe/Bucharest', '2026-03-28T18:00:00Z'],
  ['Europe/Bucharest', '2026-10-24T18:00:00Z'],
  ['America/New_York', '2026-03-08T00:00:00Z'],
  ['America/New_York', '2026-10-31T20:00:00Z'],
  // Changes by half an hour.
  ['Australia/Lord_Howe', '2026-04-04T06:00:00Z'],
  ['Asia/Kathmandu', '2026-01-01T12:00:00Z'],
  ['Pacific/Chatham', '2026-04-04T00:00:00Z'],
  // Midnight does not exist on the day of the change.
  ['America/Santiago', '2026-09-05T20:00:00Z'],
  // The 30th of December was left out.
  ['Pacific/Apia', '2011-12-29T20:00:00Z'],
  // An offset with seconds.
  ['Africa/Monrovia', '1972-01-06T12:00:00Z'],
  ['Etc/GMT+12', '2026-01-01T06:00:00Z'],
  ['Pacific/Kiritimati', '2026-01-01T06:00:00Z'],
])('every ten minutes of two days in %s after %s has the date of Intl', (zone, from) => {
  const localDay = localDayOf(zone)
  const byIntl = new Intl.DateTimeFormat('en-CA', {
    ...{ timeZone: zone, year: 'numeric', month: '2-digit', day: '2-digit' },
  })
  const start = Date.parse(from)
  for (let at = start; at < start + 2 * DAY_MS; at += 10 * MINUTE_MS)
    for (const time of [at - 1, at, at + 1])
      expect([time, dateOf(localDay(time))]).toEqual([time, byIntl.format(time)])
})

test('times before 1970 and outside of the calendar have a day', () => {
  expect(dateOf(localDayOf('Europe/Bucharest')(-1))).toBe('1970-01-01')
  expect(dateOf(localDayOf('America/New_York')(-1))).toBe('1969-12-31')
  expect(localDayOf('America/New_York')(9e15)).toBe(Math.floor(9e15 / DAY_MS))
})
