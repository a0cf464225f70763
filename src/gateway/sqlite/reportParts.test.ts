import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { makeFolder } from '../../test/gateway.ts'
import { createBlocks, JOINED_ROWS } from './reportBlocks.ts'
import { createNumbers } from './reportNumbers.ts'
import { createReportOrders } from './reportOrders.ts'
import { createParts } from './reportParts.ts'
import { BLOCK_DEVICES, createMarkPart, openReports } from './reportTables.ts'

const folder = makeFolder()
afterAll(() => rmSync(folder, { recursive: true }))

test('a step towards a report joins a bounded number of rows, or adds up one block of devices', () => {
  const database = openReports(join(folder, 'reports.db'))
  const blocks = createBlocks(database)
  const orders = createReportOrders(database, createNumbers(database, 10))
  const parts = createParts(database, blocks, orders, 1_000)
  const devices = [3 * BLOCK_DEVICES, 4 * BLOCK_DEVICES]
  const count = 2 * JOINED_ROWS + 50
  database.transaction(() => {
    for (const device of devices) {
      createMarkPart(database)(1, device)
      for (let at = 0; at < count; at++) {
        blocks.add([{ device, at, id: Buffer.alloc(16, at), name: 1, step: 0, utm: 1 }])
        blocks.write()
      }
    }
  })()
  const rows = database.prepare('SELECT count(*) FROM touches').pluck()
  const made = database.prepare('SELECT count(figures) FROM parts').pluck()
  const range = { since: 0, timeZone: 'UTC' }
  const found: unknown[] = []
  while (parts.read(1, range, undefined) === undefined) {
    let steps = 0
    parts.refresh(1, range, () => steps++ > 0)
    found.push([rows.get(), made.get()])
  }
  const joined = JOINED_ROWS - 1
  expect(found).toEqual([
    ...[
      [2 * count - joined, 0],
      [2 * count - 2 * joined, 0],
      [count + 1, 0],
      [count + 1, 1],
    ],
    ...[
      [count + 1 - joined, 1],
      [count + 1 - 2 * joined, 1],
      [2, 1],
      [2, 2],
    ],
  ])
  expect(parts.read(1, range, undefined)).toMatchObject({ devices: [2, 0, 0, 0, 0, 0] })
  database.close()
})
