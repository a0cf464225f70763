import { expect, test } from 'vitest'
import {
  campaignsWithSameUtm,
  isPast,
  kindOfName,
  linkOf,
  missingOf,
  nameOfStatus,
  namesOf,
  type Place,
  percent,
  readPlace,
  shorten,
  showDay,
  showMoment,
  slugOf,
  startValues,
  toCampaign,
  writePlace,
} from './model.ts'

test.each([
  ['', { view: 'list', search: '', type: '', page: 1 }],
  ['?search=mug&type=email&page=3', { view: 'list', search: 'mug', type: 'email', page: 3 }],
  ['?type=fax&page=-1', { view: 'list', search: '', type: '', page: 1 }],
  ['?page=1e9', { view: 'list', search: '', type: '', page: 1 }],
  ['?new=', { view: 'new' }],
  ['?id=a%2Fb&new=', { view: 'campaign', id: 'a/b', bots: false }],
  ['?id=a&bots=include', { view: 'campaign', id: 'a', bots: true }],
  ['?id=a&bots=yes', { view: 'campaign', id: 'a', bots: false }],
])('the address %s leads to its place', (query, place) => {
  expect(readPlace(query)).toEqual(place)
})

test.each<Place>([
  { view: 'list', search: 'a&b=c', type: 'sms', page: 2 },
  { view: 'list', search: '', type: '', page: 1 },
  { view: 'new' },
  { view: 'campaign', id: 'a b/c?d', bots: false },
  { view: 'campaign', id: 'a', bots: true },
])('a place is read as it was written: %j', (place) => {
  const query = writePlace('demo & co', place)
  expect(readPlace(query)).toEqual(place)
  expect(new URLSearchParams(query).get('customer')).toBe('demo & co')
})

test('a link contains the utm values, and they replace existing ones', () => {
  const tracking = { utm_campaign: 'a&b', utm_medium: 'email', utm_source: 'ă' }
  const url = new URL(linkOf('https://shop.example/mugs?x=1&utm_source=old', tracking))
  expect(Object.fromEntries(url.searchParams)).toEqual({ x: '1', ...tracking })
})

test.each([
  ['Autumn mugs, now!', 'autumn-mugs-now'],
  ['  Ceaiuri și căni  ', 'ceaiuri-si-cani'],
  ['秋のマグ', '秋のマグ'],
  ['!!!', ''],
])('%s as a utm value', (name, slug) => {
  expect(slugOf(name)).toBe(slug)
})

test('a new form suggests tomorrow, also at the end of a year', () => {
  const values = startValues(new Date(2026, 11, 31, 23, 59))
  expect(values).toMatchObject({ 'scheduling.date': '2027-01-01', 'scheduling.time': '09:00' })
})

test('the form’s values become a payload of create', () => {
  const campaign = toCampaign({
    ...startValues(new Date(2026, 10, 27)),
    'subject.name': ' Mugs ',
    'audience.smart_sending': 'false',
    'scheduling.use_optimal_time': '1',
    'content.html': ' <p> ',
  })
  expect(campaign).toMatchObject({
    type: 'email',
    subject: { name: 'Mugs', subject_line: '' },
    audience: { audience_type: 'all', smart_sending: false },
    content: { html: ' <p> ' },
    scheduling: { send_at: '2026-11-28 09:00', use_optimal_time: 1, optimize_for: 'opening' },
  })
})

test.each([
  ['', '09:00', '09:00'],
  ['2026-11-28', '', '2026-11-28'],
  ['', '', ''],
])('an incomplete date and time is sent as it is: %s %s', (date, time, sendAt) => {
  const values = { 'scheduling.date': date, 'scheduling.time': time }
  expect(toCampaign(values).scheduling.send_at).toBe(sendAt)
})

test('replies go to the sender’s address, unless another address is given', () => {
  const sender = (reply_to: string) =>
    toCampaign({ 'sender.sender': ' a@b ', 'sender.reply_to': reply_to }).sender.reply_to
  expect(sender('')).toBe('a@b')
  expect(sender(' ')).toBe('a@b')
  expect(sender('c@d')).toBe('c@d')
})

test.each([
  ['', '', 'The day and the time are missing.'],
  ['', '09:00', 'The day is missing.'],
  ['2026-11-28', '', 'The time is missing.'],
  ['2026-11-28', '09:00', ''],
])('the missing part of date %j and time %j is named', (date, time, missing) => {
  expect(missingOf(date, time)).toBe(missing)
})

test('the operator’s clock decides whether a time is past', () => {
  const now = new Date(2026, 10, 28, 9, 30)
  expect(isPast('2026-11-28', '09:29', now)).toBe(true)
  expect(isPast('2026-11-28', '09:31', now)).toBe(false)
  expect(isPast('', '09:29', now)).toBe(false)
})

test('campaigns with the same three utm values are named, others are not', () => {
  const head = (id: string, utm_source: string) => ({
    id,
    subject: { name: `Letter ${id}` },
    tracking: { utm_campaign: 'a', utm_medium: 'b', utm_source },
  })
  const [three, two, one] = [head('3', 'c'), head('2', 'C'), head('1', 'c')]
  const heads = [three, two, one]
  expect(campaignsWithSameUtm(heads, three.tracking, '3')).toEqual(['Letter 1'])
  expect(campaignsWithSameUtm(heads, three.tracking)).toEqual(['Letter 3', 'Letter 1'])
  expect(campaignsWithSameUtm(heads, two.tracking, '2')).toEqual([])
})

test('events are sorted by count, also those whose names are numbers', () => {
  const events = JSON.parse('{"view_page": 9, "add": 2, "2026": 2, "7": 1, "b": 9}')
  expect(namesOf(events).map(([name]) => name)).toEqual(['b', 'view_page', '2026', 'add', '7'])
})

test.each([
  ['abcdefgh', 8, 'abcdefgh'],
  ['abcdefghi', 8, 'abc…fghi'],
  ['🍂🍂🍂🍂🍂', 4, '🍂…🍂🍂'],
])('%s in %i characters', (text, most, short) => {
  expect(shorten(text, most)).toBe(short)
})

test('a search in the address is cut to 200 characters', () => {
  expect(readPlace(`?search=${'z'.repeat(20_000)}`)).toMatchObject({ search: 'z'.repeat(200) })
})

test('an event name gives the kind, with or without a prefix', () => {
  expect(kindOfName('add_to_cart')).toBe('addToCart')
  expect(kindOfName('de_remove_from_cart')).toBe('removeFromCart')
  expect(kindOfName('readd_to_carts')).toBe('sendCustom')
  expect(kindOfName('constructor')).toBe('sendCustom')
})

test.each([
  ['(none)', 'no status yet'],
  ['(other)', 'all other statuses'],
  ['refunded', 'refunded'],
  // Of Object.prototype.
  ['constructor', 'constructor'],
])('the status %s is shown as %s', (status, shown) => {
  expect(nameOfStatus(status)).toBe(shown)
})

test('days as people read them', () => {
  expect(showMoment('2026-11-03 09:00')).toBe('3 Nov 2026, 09:00')
  expect(showMoment('2026-11-03')).toBe('3 Nov 2026')
  expect(showMoment('soon')).toBe('soon')
  expect(showDay('2026-01-30')).toBe('30 Jan')
})

test.each([
  [0, 0, '–'],
  [0, 9, '0 %'],
  [1, 1000, '<1 %'],
  [999, 1000, '99 %'],
  [1, 3, '33 %'],
  [3, 3, '100 %'],
])('%i of %i as a share', (part, whole, shown) => {
  expect(percent(part, whole)).toBe(shown)
})
