import { expect, test } from 'vitest'
import { validate } from '../../contract/index.ts'
import { namesToMask } from '../../contract/maskUrl.ts'
import { utmOf } from '../campaigns/utm.ts'
import {
  areTooManyParameters,
  type Given,
  limitAddress,
  makeCookieless,
  maskArrived,
} from './privacy.ts'

const SALT = Buffer.alloc(32, 7)
const ID = '0190f3a2-7c41-7d11-9a3e-5f2b8c6d4e10'
const NONE = namesToMask('')
const AGENT = 'Mozilla/5.0'

const cookieless = (given: Given = {}, customerId = 'shop', id = ID) => {
  const payload: Given = { remote_addr: '203.0.113.7', http_user_agent: AGENT, ...given }
  makeCookieless(payload, customerId, id, SALT)
  return payload
}

test('without consent the address is short, and the did is the hash of what visitors share', () => {
  const { did, remote_addr } = cookieless({ did: 'a-did' })
  expect(remote_addr).toBe('203.0.113.0')
  expect(did).toMatch(/^[\da-f-]{36}$/)
  const same = [
    cookieless(),
    cookieless({ remote_addr: '203.0.113.200' }),
    cookieless({ remote_addr: '::ffff:203.0.113.200' }),
    cookieless({ url: 'https://shop.example/other' }),
    cookieless({ email_address: null }),
    cookieless({}, 'shop', ID.replace(/0$/, '1')),
  ]
  expect(same.map((payload) => payload.did)).toEqual(same.map(() => did))
  const others = [
    cookieless({ remote_addr: '203.0.114.7' }),
    cookieless({ http_user_agent: 'Mozilla/5.1' }),
    cookieless({}, 'other'),
  ]
  expect(new Set([did, ...others.map((payload) => payload.did)]).size).toBe(4)
})

test('only what is stored of a user agent counts', () => {
  const stored = 'x'.repeat(1024)
  expect(cookieless({ http_user_agent: `${stored}y` }).did).toBe(
    cookieless({ http_user_agent: stored }).did,
  )
})

test.each(['email_address', 'email'])(
  'an event with %s has a did that no other event has, so that no visits belong to the address',
  (field) => {
    const named = { [field]: 'jane@shop.example' }
    const dids = [
      cookieless().did,
      cookieless(named).did,
      cookieless(named, 'shop', ID.replace(/0$/, '1')).did,
    ]
    expect(new Set(dids).size).toBe(3)
    // Sent again, it is the same event.
    expect(cookieless(named).did).toBe(dids[1])
  },
)

test.each([
  ['whole', '203.0.113.7', '203.0.113.7'],
  ['short', '203.0.113.7', '203.0.113.0'],
  ['none', '203.0.113.7', '0.0.0.0'],
  ['short', '203.0.113.7 via proxy', '0.0.0.0'],
  ['whole', '203.0.113.7 via proxy', '203.0.113.7 via proxy'],
  ['none', 7, 7],
] as const)('addresses %s: %j is kept as %j', (addresses, remote_addr, kept) => {
  const given: Given = { remote_addr }
  limitAddress(given, { addresses })
  expect(given.remote_addr).toBe(kept)
})

test.each([
  ['https://shop.example/?token=abc&x=1', 'https://shop.example/?token=***&x=1'],
  ['https://jane:secret@shop.example/', 'https://shop.example/'],
  ['https://shop.example/?to=jane%40shop.example', 'https://shop.example/?to=***'],
  // The parser of URLs removes these characters.
  ['https:/\t/jane:secret@shop.example/', 'https://shop.example/'],
  ['https://shop.example/?to\nken=abc', 'https://shop.example/?token=***'],
  ['https://shop.example/?a\r=jane\t@shop.example', 'https://shop.example/?a=***'],
  ['https://shop.example/#/reset?code=1', 'https://shop.example/#/reset?code=***'],
])('%j is stored as %j', (url, masked) => {
  expect(maskArrived(url, NONE)).toBe(masked)
  expect(maskArrived(masked, NONE)).toBe(masked)
})

test('the names of the key are masked too', () => {
  const names = namesToMask('voucher')
  expect(maskArrived('https://shop.example/?voucher=1&x=2', names)).toBe(
    'https://shop.example/?voucher=***&x=2',
  )
})

test('what reports read of a URL stays', () => {
  const url =
    'https://shop.example/?utm_source=news%20letter&utm_medium=e-mail&utm_campaign=spr%C3%ADng+1&token=a&utm_content=b'
  const masked = maskArrived(url, NONE)
  expect(masked).toContain('token=***')
  expect(utmOf(masked)).toEqual(utmOf(url))
})

test('a URL that is too long after masking loses its fragment, then its query', () => {
  const url = (mark: string) => `https://shop.example/${mark}${'&pin='.repeat(1_630)}`
  for (const mark of '?#') {
    const long = url(mark)
    expect(validate('viewHomepage', { ...PAYLOAD, url: long }).ok).toBe(true)
    expect(maskArrived(long, NONE)).toBe('https://shop.example/')
  }
})

test.each([
  ['?a', 2_999, '&a', 'all'],
  ['?a', 3_000, '&a', ''],
  ['?a#', 3_000, '&a', '?a'],
  ['?a', 332, '&a=%41', 'all'],
  ['?a', 334, '&a=%41', ''],
  ['', 3_000, ';a', 'all'],
  ['', 3_001, ';a', ''],
  ['', 334, '&a=%41', ''],
])('a URL with %s and %i times %s keeps %j', (start, times, piece, kept) => {
  const url = `https://shop.example/a${start}${piece.repeat(times)}`
  expect(maskArrived(url, NONE)).toBe(kept === 'all' ? url : `https://shop.example/a${kept}`)
})

const PAYLOAD = { did: 'd', event: 'e', http_user_agent: AGENT, remote_addr: '203.0.113.7' }

test.each([
  ['?a=1&b=2;c#d', 5_000, 4],
  ['?a=1&b=%C3%A4;c#d', 1_666, 12],
  ['%C3%A4?a=%&%=1', 1_111, 18],
  ['?a=1'.repeat(3_001), 6, 3_001],
  ['&'.repeat(9_000), 6, 3_001],
])('URLs with %.20s are too many to mask above %i', (query, most, cost) => {
  expect(most).toBe(Math.floor(20_000 / cost))
  const url = `https://shop.example/${query}`
  expect(areTooManyParameters(Array(most).fill(url))).toBe(false)
  expect(areTooManyParameters(Array(most + 1).fill(url))).toBe(true)
})

test('what the contract refuses costs nothing', () => {
  const values = ['&'.repeat(16_385), undefined, { length: 9 }, 'https://shop.example/%C3%A4']
  expect(areTooManyParameters(values.flatMap((value) => Array(20_001).fill(value)))).toBe(false)
})
