import { expect, test } from 'vitest'
import { readTimeRange } from './timeRange.ts'

const NOW = Date.parse('2027-03-01T12:00:00Z')
const read = (date_from: string | null, date_to: string | null, zone = 'UTC') =>
  readTimeRange({ date_from, date_to }, zone, NOW)

const toText = (at: number) => new Date(at).toISOString().replace('.000', '')

test.each<[string | null, string | null, string, string, string]>([
  ['2027-01-01', '2027-01-31', 'UTC', '2027-01-01T00:00:00Z', '2027-02-01T00:00:00Z'],
  ['2027-01-01', '2027-01-01', 'UTC', '2027-01-01T00:00:00Z', '2027-01-02T00:00:00Z'],
  [' 2027-01-01 ', '2027-01-01', 'UTC', '2027-01-01T00:00:00Z', '2027-01-02T00:00:00Z'],
  ['1798761600', '1798761600', 'UTC', '2027-01-01T00:00:00Z', '2027-01-01T00:00:01Z'],
  ['0', '2027-01-01', 'UTC', '1970-01-01T00:00:00Z', '2027-01-02T00:00:00Z'],
  ['1798761600', '1798761600', 'Asia/Tokyo', '2027-01-01T00:00:00Z', '2027-01-01T00:00:01Z'],
  ['2027-01-01', '2027-01-01', 'Asia/Tokyo', '2026-12-31T15:00:00Z', '2027-01-01T15:00:00Z'],
  // Summer time begins and ends: days of 23 and 25 hours.
  ['2027-03-28', '2027-03-28', 'Europe/Bucharest', '2027-03-27T22:00:00Z', '2027-03-28T21:00:00Z'],
  ['2027-10-31', '2027-10-31', 'Europe/Bucharest', '2027-10-30T21:00:00Z', '2027-10-31T22:00:00Z'],
  // A day that begins at 01:00, and one that was left out.
  ['2018-11-04', '2018-11-04', 'America/Sao_Paulo', '2018-11-04T03:00:00Z', '2018-11-05T02:00:00Z'],
  ['2011-12-29', '2011-12-30', 'Pacific/Apia', '2011-12-29T10:00:00Z', '2011-12-30T10:00:00Z'],
  [
    '2027-01-01',
    '2027-01-01',
    'Pacific/Kiritimati',
    '2026-12-31T10:00:00Z',
    '2027-01-01T10:00:00Z',
  ],
])('%s to %s in %s', (dateFrom, dateTo, zone, from, to) => {
  const found = read(dateFrom, dateTo, zone)
  if (!found.ok) throw new Error(found.issues[0]?.message)
  expect([toText(found.range.from), toText(found.range.to)]).toEqual([from, to])
})

test.each([null, '', ' '])('without an end: up to now; without a beginning: all (%j)', (none) => {
  expect(read(none, none)).toEqual({ ok: true, range: { from: 0, to: NOW + 1 } })
  expect(read('2027-01-01', none)).toMatchObject({ range: { to: NOW + 1 } })
  // The shop's clock is ahead.
  const from = NOW + 5_000
  expect(read(`${from / 1_000}`, none)).toEqual({ ok: true, range: { from, to: from + 1 } })
})

test.each([
  ['yesterday', null, ['date_from']],
  [null, '01.02.2027', ['date_to']],
  ['2027-02-30', '2027-13-01', ['date_from', 'date_to']],
  ['2027-1-1', null, ['date_from']],
  ['-1', null, ['date_from']],
  ['1.5', null, ['date_from']],
  ['1798761600000', null, ['date_from']],
  ['2027-01-01T00:00:00Z', null, ['date_from']],
  ['9'.repeat(400), '٢٠٢٧-٠١-٠١', ['date_from', 'date_to']],
  ['2027-01-02', '2027-01-01', ['date_to']],
  ['2027-04-01', '2027-03-31', ['date_to']],
])('%s to %s is refused', (from, to, paths) => {
  const found = read(from, to)
  if (found.ok) throw new Error('It was read')
  expect(found.issues.map(({ path }) => path)).toEqual(paths)
})

test('any text is read or refused', () => {
  for (const text of ['9999-12-31', '0000-01-01', '0001-01-01', '99999999999'])
    for (const zone of ['UTC', 'Europe/Bucharest', 'America/New_York'])
      expect(read(text, text, zone)).toMatchObject({ ok: true })
})
