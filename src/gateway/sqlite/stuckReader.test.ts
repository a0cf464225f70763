import { randomUUID } from 'node:crypto'
import { rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, expect, test } from 'vitest'
import { makeFolder } from '../../test/gateway.ts'
import { toCells } from './cells.ts'
import { openStore } from './store.ts'

/** A connection that reads for very long: a backup of a large log, a command that is stopped, another program. */
const folder = makeFolder()
afterAll(() => rmSync(folder, { recursive: true }))

const MIB = 2 ** 20

test('a reader that is stuck keeps no event out, and the -wal is small again after it', () => {
  const file = join(folder, 'events.db')
  const walBytes = () => statSync(`${file}-wal`).size
  const store = openStore(file)
  const append = () => {
    const events = Array.from({ length: 100 }, () => ({
      customer: 'shop',
      id: randomUUID(),
      at: 1_700_000_000_000,
      receivedAt: 1_700_000_000_500,
      operation: 'search',
      event: 'search',
      did: 'd-1',
      bot: false,
      version: null,
      payload: 'x'.repeat(10_000),
    }))
    expect(store.append(toCells(events)).positions.every((position) => position > 0)).toBe(true)
  }
  append()
  const reader = new Database(file, { readonly: true })
  const reading = reader.prepare('SELECT seq FROM events').iterate()
  reading.next()
  for (let mib = 0; mib < 48; mib++) append()
  expect(walBytes()).toBeGreaterThan(44 * MIB)
  reading.return?.()
  // The first one writes the -wal to the database, the second one begins it anew.
  append()
  append()
  expect(walBytes()).toBeLessThan(33 * MIB)
  reader.close()
  store.close()
})
