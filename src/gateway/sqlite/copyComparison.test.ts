import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { makeFolder } from '../../test/gateway.ts'
import { makeLogEvent } from '../../test/logEvents.ts'
import { toCells } from './cells.ts'
import { openStore } from './store.ts'

const folder = makeFolder()
afterAll(() => rmSync(folder, { recursive: true }))

const [first, second, third, erased] = Array.from({ length: 4 }, () => makeLogEvent())
const unknown = makeLogEvent()
const store = openStore(join(folder, 'events.db'))
store.beginCopy('the log')
/* 1 first, 2 counts, 3 second, 4 first again, 5 third, 6 lost or not an event, 7 erased, 8 that it is erased */
store.apply({
  after: 0,
  last: 8,
  cells: toCells([first, second, first, third, erased] as never),
  seqs: [1, 3, 4, 5, 7],
  others: [{ seq: 8, customer: 'demo', erased: [{ seq: 7, id: erased?.id as string }] }],
})
afterAll(() => store.close())

test.each([
  [1, 8, 2],
  [3, 8, 6],
  [3, 5, undefined],
  [4, 4, undefined],
  [6, 6, 6],
  [7, 8, 8],
  [7, 7, undefined],
])('the first sequence from %i to %i without an event is %s', (from, upTo, absent) => {
  expect(store.firstAbsent(from, upTo)).toBe(absent)
})

test.each([
  ['an event', 1, first, undefined],
  ['an event in upper case', 3, { ...second, id: second?.id.toUpperCase() }, undefined],
  ['a repetition', 4, first, undefined],
  ['an erased event that the log still has', 7, erased, undefined],
  ['a message that is not an event', 2, undefined, undefined],
  ['an event that the copy lacks', 6, unknown, 'lacks'],
  ['another event', 5, unknown, 'other'],
  ['the event of another customer', 5, { ...third, customer: 'other' }, 'other'],
  ['another event than the repetition', 4, second, 'other'],
  ['an event where the log has another message', 5, undefined, 'other'],
])('%s: at %i', (_, seq, event, fault) => {
  expect(store.compareEvent(seq, event as never)).toBe(fault)
})

test('an event that has expired may be missing', () => {
  store.apply({
    ...{ after: 8, last: 9, cells: toCells([]), seqs: [] },
    others: [{ seq: 9, customer: 'demo', expiredTo: 6 }],
  })
  expect(store.compareEvent(6, unknown)).toBeUndefined()
  expect(store.compareEvent(6, { ...unknown, customer: 'other' })).toBe('lacks')
})
