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

test('data that is no event is refused', () => {
  expect(() => decodeEvent('demo', Buffer.from('x\n{}'))).toThrow(SyntaxError)
})

test('an id is the same in upper and lower case', () => {
  expect(messageIdOf(EVENT)).toBe('demo/0197a5b0-0000-7000-8000-000000000001')
})
