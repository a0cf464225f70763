import { rmSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, expect, test } from 'vitest'
import { makeFolder } from '../../test/gateway.ts'
import { createMirrorRows, isMirrored } from './mirrorRows.ts'

const folder = makeFolder()
afterAll(() => rmSync(folder, { recursive: true }))

let files = 0

const TABLES = `
  CREATE TABLE IF NOT EXISTS shops (id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, hash BLOB) STRICT;
  CREATE TABLE IF NOT EXISTS visits (shop TEXT NOT NULL, day INTEGER NOT NULL, n INTEGER NOT NULL, PRIMARY KEY (shop, day)) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS tokens (hash BLOB PRIMARY KEY, until INTEGER) STRICT`
const MIRRORED = [
  { table: 'shops', key: ['id'] },
  { table: 'visits', key: ['shop', 'day'] },
  { table: 'tokens', key: ['hash'] },
]

function prepare(file = join(folder, `${++files}.db`)) {
  const database = new Database(file)
  database.pragma('journal_mode = WAL')
  database.exec(TABLES)
  return { file, database, rows: createMirrorRows(database, MIRRORED) }
}

const shop = (id: string, name: string) => JSON.stringify({ id, name, hash: null })
const remote = (id: string, revision: number, name?: string) => ({
  ...{ table: 'shops', key: [id], revision },
  value: name === undefined ? undefined : shop(id, name),
})

test('changes are recorded with their values, and settled', () => {
  const { database, rows } = prepare()
  database.exec("INSERT INTO shops VALUES ('a \"é', 'A', x'00ff')")
  database.exec("INSERT OR IGNORE INTO visits VALUES ('', 7, 1)")
  database.exec("INSERT INTO tokens VALUES (x'0AFF', 5)")
  const changes = rows.changes(10)
  expect(changes).toMatchObject([
    { table: 'shops', key: ['a "é'], revision: 0, before: undefined },
    { table: 'visits', key: ['', '7'], value: '{"shop":"","day":7,"n":1}' },
    { table: 'tokens', key: ['0AFF'] },
  ])
  expect(JSON.parse(changes[0]?.value ?? '')).toEqual({
    ...{ id: 'a "é', name: 'A', hash: { base64: 'AP8=' } },
  })
  rows.settle(changes.map((change, i) => ({ ...change, revision: i + 1 })))
  expect(rows.changes(10)).toEqual([])

  database.exec("UPDATE visits SET day = 8; DELETE FROM tokens; UPDATE shops SET name = 'B'")
  expect(rows.changes(10)).toMatchObject([
    { table: 'visits', key: ['', '7'], revision: 2, value: undefined },
    { table: 'visits', key: ['', '8'], revision: 0 },
    { table: 'tokens', key: ['0AFF'], revision: 3, value: undefined },
    { table: 'shops', revision: 1, before: changes[0]?.value },
  ])
})

test('a row that changes while it is stored stays unsettled, also if OR IGNORE inserts it again', () => {
  const { database, rows } = prepare()
  database.exec("INSERT INTO visits VALUES ('a', 1, 1)")
  rows.settle(rows.changes(1).map((change) => ({ ...change, revision: 1 })))
  database.exec('DELETE FROM visits')
  const [deletion] = rows.changes(1)
  database.exec("INSERT OR IGNORE INTO visits VALUES ('a', 1, 2)")
  rows.settle([{ ...(deletion as NonNullable<typeof deletion>), revision: 2 }])
  expect(rows.changes(9)).toMatchObject([{ revision: 2, value: '{"shop":"a","day":1,"n":2}' }])
})

test('other connections are recorded too, and what is rolled back is not', () => {
  const { file, database, rows } = prepare()
  const other = new Database(file)
  other.exec("INSERT INTO shops VALUES ('other', 'Other', NULL)")
  database.exec("BEGIN; INSERT INTO shops VALUES ('a', 'A', NULL); ROLLBACK")
  expect(rows.changes(10)).toMatchObject([{ key: ['other'] }])
  other.close()
})

test('rows of the bucket are applied, and are no changes', () => {
  const { database, rows } = prepare()
  expect(rows.apply([remote('a', 5, 'A'), remote('b', 6, 'B')], 6)).toMatchObject({
    ...{ tables: ['shops'], isUndone: false },
  })
  rows.apply([remote('a', 8)], 7)
  // Older than what is known.
  rows.apply([remote('b', 6, 'Old'), remote('a', 5, 'A')], 7)
  const ids = database.prepare('SELECT id, name FROM shops').all()
  expect(ids).toEqual([{ id: 'b', name: 'B' }])
  expect(rows.changes(10)).toEqual([])
  expect(rows.state()).toMatchObject({ position: 7 })
})

test('the row of the bucket wins, and all unsettled changes are undone', () => {
  const { database, rows } = prepare()
  rows.apply([remote('a', 1, 'A'), remote('b', 2, 'B')], 2)
  database.exec("UPDATE shops SET name = name || ' here'; INSERT INTO visits VALUES ('a', 1, 1)")
  expect(rows.apply([remote('a', 3, 'A there')], 3).isUndone).toBe(true)
  expect(database.prepare('SELECT name FROM shops ORDER BY id').pluck().all()).toEqual([
    ...['A there', 'B'],
  ])
  expect(database.prepare('SELECT * FROM visits').all()).toEqual([])
  expect(rows.changes(10)).toEqual([])
})

test('the same change on both sides is no conflict', () => {
  const { database, rows } = prepare()
  rows.apply([remote('a', 1, 'A'), remote('b', 2, 'B')], 2)
  database.exec("UPDATE shops SET name = 'A2' WHERE id = 'a'; DELETE FROM shops WHERE id = 'b'")
  expect(rows.apply([remote('a', 3, 'A2'), remote('b', 4)], 4).isUndone).toBe(false)
  expect(rows.changes(10)).toEqual([])
})

test('a new row with a unique value of a row of the bucket is undone', () => {
  const { database, rows } = prepare()
  database.exec("INSERT INTO shops VALUES ('here', 'Name', NULL)")
  expect(rows.apply([remote('there', 1, 'Name')], 1).isUndone).toBe(true)
  expect(database.prepare('SELECT id FROM shops').pluck().all()).toEqual(['there'])
  expect(rows.changes(10)).toEqual([])
})

test('rows that do not come in a full reading are removed', () => {
  const { database, rows } = prepare()
  rows.begin('cluster', true)
  rows.apply([remote('a', 1, 'A'), remote('b', 2, 'B')], 0)
  rows.apply([], 2)
  rows.finish(true, 1_000)
  expect(rows.state()).toEqual({ layout: 'cluster', position: 2, reachedAt: 1_000 })
  rows.begin('cluster', true)
  rows.apply([remote('b', 2, 'B')], 0)
  expect(rows.finish(true, 2_000).tables).toEqual(['shops'])
  expect(database.prepare('SELECT id FROM shops').pluck().all()).toEqual(['b'])
})

test('rows of another cluster are removed without a trace', () => {
  const { database, rows } = prepare()
  rows.begin('one', true)
  rows.apply([remote('a', 1, 'A')], 1)
  database.exec("INSERT INTO shops VALUES ('b', 'B', NULL)")
  rows.begin('other', true)
  expect(database.prepare('SELECT * FROM shops').all()).toEqual([])
  expect(rows.changes(10)).toEqual([])
  rows.apply([remote('a', 1, 'A')], 1)
  expect(database.prepare('SELECT id FROM shops').pluck().all()).toEqual(['a'])
})

test('rows that do not fit are left out, columns of a newer version too', () => {
  const { database, rows } = prepare()
  const newer = { table: 'shops', key: ['a'], revision: 2, value: '{"id":"a","name":"A","new":1}' }
  const { faults } = rows.apply(
    [
      { ...remote('bad', 1), value: '{"id":"bad"}' },
      { ...remote('no', 1), value: '{' },
      { table: 'unknown', key: ['x'], revision: 1, value: '{}' },
      newer,
    ],
    2,
  )
  expect(faults).toHaveLength(2)
  expect(database.prepare('SELECT * FROM shops').all()).toEqual([
    { id: 'a', name: 'A', hash: null },
  ])
})

test('a file opened again keeps its state, and rows from before the mirror count as changes', () => {
  const file = join(folder, `${++files}.db`)
  const before = new Database(file)
  before.exec(`${TABLES}; INSERT INTO shops VALUES ('a', 'A', NULL)`)
  expect(isMirrored(before)).toBe(false)
  before.close()
  const first = prepare(file)
  expect(isMirrored(first.database)).toBe(true)
  expect(first.rows.changes(10)).toMatchObject([{ key: ['a'], revision: 0 }])
  first.rows.settle(first.rows.changes(10).map((change) => ({ ...change, revision: 4 })))
  first.rows.apply([], 4)
  first.database.close()
  const again = prepare(file)
  expect(again.rows.changes(10)).toEqual([])
  expect(again.rows.state().position).toBe(4)
})
