import fc from 'fast-check'
import { expect, test } from 'vitest'
import { completePayloads } from '../test/payloads.ts'
import { MAX_HTML_CHARACTERS } from './campaigns.ts'
import { validate } from './index.ts'

const campaign = completePayloads.create

const acceptsMoment = (send_at: unknown) =>
  validate('create', { ...campaign, scheduling: { ...campaign.scheduling, send_at } }).ok

const acceptsHtml = (html: unknown) => validate('create', { ...campaign, content: { html } }).ok

/** docs/decisions.md, "send_at", by the rules of the Gregorian calendar and without `Date`. */
function isMoment(value: string): boolean {
  const form = '####-##-## ##:##'
  const fits = [...form].every((sign, at) => {
    const given = value.charAt(at)
    return sign === '#' ? given !== '' && '0123456789'.includes(given) : given === sign
  })
  if (!fits || value.length !== form.length) return false
  const number = (from: number, to: number) => Number(value.slice(from, to))
  const year = number(0, 4)
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  const days = [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
  const daysOfMonth = days[number(5, 7) - 1] ?? 0
  const day = number(8, 10)
  return day >= 1 && day <= daysOfMonth && number(11, 13) <= 23 && number(14, 16) <= 59
}

const digits = (length: number, max: number) =>
  fc.nat(max).map((number) => `${number}`.padStart(length, '0'))

const moments = fc.oneof(
  fc
    .tuple(
      fc.oneof(digits(4, 9999), fc.constantFrom('1900', '2000', '2023', '2024', '0000')),
      digits(2, 13),
      fc.oneof(digits(2, 32), fc.constantFrom('28', '29', '30', '31')),
      fc.constantFrom(' ', ' ', ' ', 'T', '  '),
      digits(2, 25),
      digits(2, 61),
      fc.constantFrom('', '', '', '', ':00', 'Z', '\n', ' '),
    )
    .map(([year, month, day, gap, hour, minute, end]) =>
      [year, '-', month, '-', day, gap, hour, ':', minute, end].join(''),
    ),
  fc.string({ maxLength: 17 }),
)

test('send_at: agrees with the reference', () => {
  const seen = new Set<boolean>()
  fc.assert(
    fc.property(moments, (send_at) => {
      seen.add(isMoment(send_at))
      expect(acceptsMoment(send_at)).toBe(isMoment(send_at))
    }),
    { numRuns: 2000 },
  )
  expect(seen.size).toBe(2)
})

test('send_at: every day of four centuries, and the day after each month', () => {
  for (let year = 1900; year < 2300; year += 1)
    for (let month = 1; month <= 12; month += 1)
      for (const day of [28, 29, 30, 31]) {
        const send_at = `${year}-${`${month}`.padStart(2, '0')}-${day} 00:00`
        if (acceptsMoment(send_at) !== isMoment(send_at)) expect.fail(send_at)
      }
})

test.each([
  [1, true],
  [MAX_HTML_CHARACTERS, true],
  [MAX_HTML_CHARACTERS + 1, false],
])('html of %i characters, counted as code points', (length, expected) => {
  for (const character of ['x', 'é', '😀'])
    expect(acceptsHtml(character.repeat(length))).toBe(expected)
})

test.each(['', ' \n', null, 5, ['<p>'], undefined])('not HTML: %j', (html) => {
  expect(acceptsHtml(html)).toBe(false)
})

test.each([0, 1])('use_optimal_time is the number %i', (use_optimal_time) => {
  const scheduling = { ...campaign.scheduling, use_optimal_time }
  expect(validate('create', { ...campaign, scheduling }).ok).toBe(true)
})

test.each([true, false, '0', '1', 2, -1, 0.5, 1n])(
  'use_optimal_time is not %s',
  (use_optimal_time) => {
    const scheduling = { ...campaign.scheduling, use_optimal_time }
    expect(validate('create', { ...campaign, scheduling }).ok).toBe(false)
  },
)

test('list: filters that are empty, blank or null are left out', () => {
  const given = { search: ' ', type: '', page: null, limit: undefined, filters: '0', more: 'x' }
  expect(validate('list', given)).toEqual({ ok: true, payload: { filters: '0' } })
})

test('list: a blank filter does not hide the issues of others', () => {
  const checked = validate('list', { search: '', page: 1, limit: {} })
  expect(!checked.ok && checked.error.issues.map(({ path }) => path)).toEqual(['page', 'limit'])
})

test.each(['c-1', 'a/b', '...', 'a?b#c', '%2e', ' x ', 'Ж', '😀', 'constructor'])(
  'getEmailReport: %j can be a path segment',
  (id) => {
    expect(validate('getEmailReport', { id })).toEqual({ ok: true, payload: { id } })
  },
)

test.each(['', ' ', '.', '..', '\ud800', 'a\udc00b', 5, null, ['c-1']])(
  'getEmailReport: %j is not an id',
  (id) => {
    expect(validate('getEmailReport', { id }).ok).toBe(false)
  },
)

test.each([null, undefined])('getLatestCampaign: a limit of %s is absent', (limit) => {
  expect(validate('getLatestCampaign', { limit })).toEqual({ ok: true, payload: {} })
})
