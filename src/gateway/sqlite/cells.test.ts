import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import type { LogEvent } from '../collect/eventLog.ts'
import { eachRow, toCells } from './cells.ts'

const makeEvent = (given: Partial<LogEvent> = {}): LogEvent => ({
  customer: 'a',
  id: randomUUID(),
  at: 1_700_000_000_000,
  receivedAt: 1_700_000_000_500,
  operation: 'search',
  event: 'search',
  did: 'd-1',
  bot: false,
  version: null,
  payload: '{}',
  ...given,
})

const rowsOf = (events: readonly LogEvent[]): unknown[][] => {
  const rows: unknown[][] = []
  eachRow(toCells(events), (...row) => rows.push(row))
  return rows
}

test('each event becomes the row of its own values, whatever the events beside it are', () => {
  const events = [
    makeEvent(),
    makeEvent({ customer: 'b', payload: '{"term":"lămpi 漢 🛒"}', did: null }),
    makeEvent({ bot: true, version: '1.2.3', at: -1 }),
    makeEvent({ event: 'x_search', cookieless: true, payload: '{"term":"ă"}' }),
    makeEvent({ operation: 'viewCart', cookieless: false, did: 'nul \0 inside' }),
    makeEvent({ id: randomUUID().toUpperCase() }),
  ]
  expect(rowsOf(events)).toEqual(
    events.map((e) => [
      e.customer,
      e.operation,
      e.event,
      e.bot ? 1 : 0,
      e.version,
      e.cookieless === undefined ? null : Number(e.cookieless),
      e.did,
      e.receivedAt,
      e.at,
      Buffer.from(e.id.replaceAll('-', ''), 'hex'),
      Buffer.from(e.payload),
    ]),
  )
})

test('texts that many events share are there once', () => {
  const events = [makeEvent(), makeEvent({ customer: 'b' }), makeEvent(), makeEvent()]
  expect(toCells(events).kinds.filter((cell) => cell === 'a')).toHaveLength(1)
})
