import { expect, test } from 'vitest'
import type { LogRecord } from '../collect/eventLog.ts'
import { MAX_SHOWN_BYTES, MAX_SHOWN_TEXT, toMessage } from './liveMessage.ts'

const record = (payload: string, given: Partial<LogRecord> = {}): LogRecord => ({
  seq: 7,
  customer: 'shop',
  id: '0b5f6d3a-0000-4000-8000-000000000000',
  at: 1,
  receivedAt: 2,
  operation: 'search',
  event: 'search',
  did: 'd-1',
  bot: false,
  version: null,
  payload,
  ...given,
})
/** The message as a browser reads it. */
const shown = (given: LogRecord) => {
  const [, seq, data = ''] =
    /^event: event\nid: (\d+)\ndata: (.*)\n\n$/.exec(toMessage(given)) ?? []
  expect(seq).toBe('7')
  return JSON.parse(data)
}
const largest = (field: string, character: string) =>
  JSON.stringify({ [field]: character.repeat(130_000) })

test('an event is shown whole, without its customer', () => {
  const { customer: _, ...rest } = record('')
  const payload = { search_term: 'lămpi 漢 \n "', variation: { id: '1', sku: '2' } }
  expect(shown(record(JSON.stringify(payload)))).toEqual({ ...rest, payload })
})

test('a payload up to 16 KiB is shown as it is, a larger one with its texts cut', () => {
  const whole = JSON.stringify({ search_term: 'é'.repeat((MAX_SHOWN_BYTES - 18) / 2) })
  expect(Buffer.byteLength(whole)).toBe(MAX_SHOWN_BYTES)
  expect(shown(record(whole))).toMatchObject({ payload: JSON.parse(whole) })
  expect(shown(record(whole))).not.toHaveProperty('storedBytes')

  const larger = {
    url: 'https://shop.example/',
    product_id: 7,
    variation: { sku: 'x'.repeat(300) },
  }
  const text = JSON.stringify({ ...larger, search_term: 'é'.repeat(10_000) })
  expect(shown(record(text))).toMatchObject({
    storedBytes: Buffer.byteLength(text),
    payload: {
      url: larger.url,
      product_id: 7,
      search_term: `${'é'.repeat(MAX_SHOWN_TEXT)}…`,
      variation: { sku: `${'x'.repeat(MAX_SHOWN_TEXT)}…` },
    },
  })
})

test.each<[string, string]>([
  ['one long text', largest('search_term', 'x')],
  ['texts that JSON escapes', largest('search_term', '\u0001')],
  ['a long name of a field', JSON.stringify({ ['x'.repeat(130_000)]: 1 })],
  [
    'many fields',
    JSON.stringify(Object.fromEntries(Array.from({ length: 9_000 }, (_, i) => [i, i]))),
  ],
  ['deep lists', `${'['.repeat(60_000)}${']'.repeat(60_000)}`],
  ['a payload that is not JSON', 'x'.repeat(130_000)],
])('the message of a large payload is small: %s', (_, payload) => {
  const message = toMessage(record(payload))
  expect(Buffer.byteLength(message)).toBeLessThan(MAX_SHOWN_BYTES + 1_024)
  expect(shown(record(payload))).toMatchObject({ storedBytes: Buffer.byteLength(payload) })
})

test('names and devices of any length are cut, characters stay whole', () => {
  const long = `${'x'.repeat(MAX_SHOWN_TEXT - 1)}😀 and more`
  const { event, did } = shown(record('{}', { event: long, did: long }))
  expect(event).toBe(`${'x'.repeat(MAX_SHOWN_TEXT - 1)}…`)
  expect(did).toBe(event)
  expect(shown(record('{}', { did: null })).did).toBeNull()
})
