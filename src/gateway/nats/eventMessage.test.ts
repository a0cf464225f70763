import { expect, test } from 'vitest'
import type { LogEvent } from '../collect/eventLog.ts'
import { decodeEvent, encodeEvent, messageIdOf } from './eventMessage.ts'

const EVENT: LogEvent = {
  customer: 'demo',
  id: '0197A5B0-0000-7000-8000-000000000001',
  at: 1_700_000_000_000,
  receivedAt: 1_700_000_000_500,
  operation: 'search',
  event: 'my "event"\n',
  did: 'nul \0 inside',
  bot: true,
  version: '1.2.0',
  payload: '{"search_term":"lămpi 漢\\n"}',
}

test.each<[string, LogEvent]>([
  ['every property', { ...EVENT, cookieless: true }],
  ['no cookieless', EVENT],
  ['cookieless: false', { ...EVENT, cookieless: false }],
  ['nulls', { ...EVENT, did: null, version: null, bot: false }],
])('an event survives its message: %s', (_, event) => {
  expect(decodeEvent(event.customer, encodeEvent(event))).toEqual(event)
})

const ID = EVENT.id
test.each([
  'x',
  'null',
  '{}',
  '[]',
  '["no id", 1, 1, "search", "search", null, 0, null, null]',
  `["${ID}", 1.5, 1, "search", "search", null, 0, null, null]`,
  `["${ID}", 1, null, "search", "search", null, 0, null, null]`,
  `["${ID}", 1, 1, "", "search", null, 0, null, null]`,
  `["${ID}", 1, 1, "search", {}, null, 0, null, null]`,
  `["${ID}", 1, 1, "search", "search", 1, 0, null, null]`,
])('data that is no event is refused: %s', (head) => {
  expect(() => decodeEvent('demo', Buffer.from(`${head}\n{}`))).toThrow(SyntaxError)
})

test('an id is the same in upper and lower case', () => {
  expect(messageIdOf(EVENT)).toBe('demo/0197a5b0-0000-7000-8000-000000000001')
})
