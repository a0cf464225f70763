import { randomUUID } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { upgradeFile } from '../../test/earlierData.ts'
import { makeFolder } from '../../test/gateway.ts'
import { toCells } from './cells.ts'
import type { TrimPlace } from './removal.ts'
import { EVENTS_SCHEMA, openStore, type Store } from './store.ts'

/** Removed events: nothing of them is left in any byte of the files, and all others stay. */
const folder = makeFolder()
let folders = 0
afterAll(() => rmSync(folder, { recursive: true }))

function nextFile() {
  const own = join(folder, String(++folders))
  mkdirSync(own)
  return { own, file: join(own, 'events.db') }
}

/** A generator of numbers below 1 (mulberry32), so that a failure can be repeated. */
function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const makeEvent = (mark: string, size: number, customer = 'demo') => ({
  customer,
  id: randomUUID(),
  at: 1_700_000_000_000,
  receivedAt: 1_700_000_000_500,
  operation: 'setEmail',
  event: 'set_email',
  did: `did-${mark}`,
  bot: false,
  version: null,
  payload: JSON.stringify({
    email: `${mark}@mail.test`,
    url: `https://${mark}.test/`,
    fill: 'x'.repeat(size),
  }),
})

/** The marks (`m` and six digits) in the bytes of all files of a folder. */
function marksIn(own: string): Set<string> {
  const found = new Set<string>()
  for (const name of readdirSync(own))
    for (const [mark] of readFileSync(join(own, name), 'latin1').matchAll(/m\d{6}/g))
      found.add(mark)
  return found
}

const markOf = (seq: number) => `m${String(seq).padStart(6, '0')}`

function trimAll(store: Store): void {
  let place: TrimPlace | undefined
  do place = store.trim(place)
  while (place)
}

const rowsOf = (file: string): number => {
  const database = new Database(file, { readonly: true })
  const rows = database.prepare<[], number>('SELECT count(*) FROM events').pluck().get()
  database.close()
  return rows as number
}

test('a removed event is in no byte of the folder, and the others are', () => {
  const { own, file } = nextFile()
  const store = openStore(file)
  store.append(toCells([1, 2, 3].map((seq) => makeEvent(markOf(seq), seq === 2 ? 20_000 : 200))))
  expect(store.removeEvents([2])).toBe(1)
  expect(store.removeEvents([2, 99])).toBe(0)
  expect(store.clearWal()).toBe(true)
  expect([...marksIn(own)].sort()).toEqual([markOf(1), markOf(3)])
  expect(store.read({ max: 9 }).map(({ seq }) => seq)).toEqual([1, 3])
  expect(store.read({ max: 9, customer: 'demo' }).map(({ seq }) => seq)).toEqual([1, 3])
  expect(store.findTail('demo', 1)).toEqual({ after: 2, newest: 3 })
  expect(store.findTail('demo', 2)).toEqual({ after: 0, newest: 3 })
  store.close()
})

test('a removed event that arrives again is not stored again', () => {
  const { own, file } = nextFile()
  const store = openStore(file)
  const event = makeEvent(markOf(1), 100)
  store.append(toCells([event]))
  store.removeEvents([1])
  expect(store.append(toCells([event])).positions).toEqual([0])
  expect(store.has('demo', [event.id])).toEqual([true])
  store.clearWal()
  expect(marksIn(own).size).toBe(0)
  store.close()
})

test('a database of an earlier version loses its removed events too, and keeps its size', async () => {
  const { own, file } = nextFile()
  const old = new Database(file)
  old.exec(`CREATE TABLE events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, customer TEXT NOT NULL, id BLOB NOT NULL, received_at INTEGER NOT NULL,
    at INTEGER NOT NULL, operation TEXT NOT NULL, event TEXT NOT NULL, did TEXT, bot INTEGER NOT NULL,
    payload TEXT NOT NULL, UNIQUE (customer, id)
  ) STRICT; PRAGMA journal_mode = WAL`)
  old.close()
  await upgradeFile(file, EVENTS_SCHEMA)
  const store = openStore(file)
  const all = Array.from({ length: 2_000 }, (_, i) => i + 1)
  store.append(toCells(all.map((seq) => makeEvent(markOf(seq), 300))))
  store.clearWal()
  const { size } = statSync(file)
  for (let i = 0; i < 2_000; i += 200) store.removeEvents(all.slice(i, i + 200))
  trimAll(store)
  expect(store.release()).toBe(false)
  store.clearWal()
  expect(marksIn(own).size).toBe(0)
  // The space is used for new events.
  store.append(toCells(all.slice(0, 1_000).map((seq) => makeEvent(markOf(seq), 300))))
  store.clearWal()
  expect(statSync(file).size).toBeLessThan(size * 1.05)
  store.close()
})

test('the -wal is not emptied while another connection reads, and is afterwards', () => {
  const { own, file } = nextFile()
  const store = openStore(file)
  store.append(toCells([makeEvent(markOf(1), 100)]))
  const reader = new Database(file, { readonly: true })
  const reading = reader.prepare('SELECT payload FROM events').iterate()
  reading.next()
  store.removeEvents([1])
  expect(store.clearWal()).toBe(false)
  expect(marksIn(own).size).toBe(1)
  reading.return?.()
  expect(store.clearWal()).toBe(true)
  expect(marksIn(own).size).toBe(0)
  reader.close()
  store.close()
})

/** Removals in random pieces of a log that is shared with customers who keep theirs. */
test('whatever is removed, in whatever order, exactly that is gone', () => {
  const history = fc.record({
    seed: fc.integer(),
    count: fc.constantFrom(50, 2_000),
    removed: fc.constantFrom(0.05, 0.5, 0.95, 1),
    order: fc.constantFrom('up', 'down', 'random'),
    size: fc.constantFrom(10, 700, 5_000),
    step: fc.integer({ min: 1, max: 200 }),
  })
  fc.assert(
    fc.property(history, ({ seed, count, removed, order, size, step }) => {
      const { own, file } = nextFile()
      const random = createRandom(seed)
      const store = openStore(file)
      const all = Array.from({ length: count }, (_, i) => i + 1)
      for (let i = 0; i < count; i += 100)
        store.append(
          toCells(all.slice(i, i + 100).map((seq) => makeEvent(markOf(seq), random() * size))),
        )
      const gone = all.filter(() => random() < removed)
      const removedOnes = new Set(gone)
      const kept = all.filter((seq) => !removedOnes.has(seq))
      if (order === 'down') gone.reverse()
      if (order === 'random') gone.sort(() => random() - 0.5)
      for (let i = 0; i < gone.length; i += step) {
        store.removeEvents(gone.slice(i, i + step))
        if (random() < 0.1) store.trim()
      }
      trimAll(store)
      while (store.release());
      store.clearWal()
      expect([...marksIn(own)].sort()).toEqual(kept.map(markOf))
      expect(store.read({ max: count }).map(({ seq, did }) => [seq, did])).toEqual(
        kept.map((seq) => [seq, `did-${markOf(seq)}`]),
      )
      store.close()
      rmSync(own, { recursive: true })
    }),
    { numRuns: 12 },
  )
})

test('an event near removed ones is not moved, so it leaves nothing behind when it is removed', () => {
  const { own, file } = nextFile()
  const random = createRandom(1)
  const store = openStore(file)
  const all = Array.from({ length: 4_000 }, (_, i) => i + 1)
  store.append(toCells(all.map((seq) => makeEvent(markOf(seq), random() * 900))))
  const kept = new Set(all.filter(() => random() < 0.1))
  // One after another at random places, so that a row is near removed ones for some time before it is removed.
  const gone = all.filter((seq) => !kept.has(seq)).sort(() => random() - 0.5)
  for (let i = 0; i < gone.length; i += 200) {
    store.removeEvents(gone.slice(i, i + 200))
    trimAll(store)
  }
  store.clearWal()
  expect([...marksIn(own)].sort()).toEqual([...kept].map(markOf))
  store.close()
})

test('of a long run of removed events only the margins stay, and their pages are given back', () => {
  const { own, file } = nextFile()
  const store = openStore(file)
  const count = 6_000
  const all = Array.from({ length: count }, (_, i) => i + 1)
  store.append(toCells(all.map((seq) => makeEvent(markOf(seq), 300))))
  store.clearWal()
  const sizeBefore = readFileSync(file).length
  // One event in the middle is kept.
  const gone = all.filter((seq) => seq !== 3_000 && seq <= 5_000)
  for (let i = 0; i < gone.length; i += 200) store.removeEvents(gone.slice(i, i + 200))
  trimAll(store)
  expect(rowsOf(file)).toBe(3 * 400 + 1 + 1_000)
  while (store.release());
  store.clearWal()
  expect(readFileSync(file).length).toBeLessThan(sizeBefore / 2)
  expect(marksIn(own).size).toBe(1_001)
  // Positions are not used again.
  expect(store.append(toCells([makeEvent(markOf(0), 1)])).positions).toEqual([count + 1])
  store.close()
})
