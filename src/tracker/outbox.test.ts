import { expect, test } from 'vitest'
import { createMemoryStorage } from '../test/storage.ts'
import { createStore } from './lib/storage.ts'
import { createOutbox, type Entry, idOf, type Outbox } from './outbox.ts'

const nowhere = createStore(() => null as never)

/** An event of the page. A higher number sorts later. */
const entry = (number: number, more: Partial<Entry> = {}): Entry => ({
  name: `01890000-0000-7000-8000-${`${number}`.padStart(12, '0')}`,
  at: 1_700_000_000_000 + number,
  key: 'DEMOSHOP',
  body: `{"n":${number}}`,
  ...more,
})

const open = (storage: Storage) => createOutbox(createStore(() => storage))

/** Takes the calls of stubs out of storage. */
const callsOf = (outbox: Outbox) => {
  const calls: string[] = []
  outbox.all(calls)
  return calls
}

test('each event has its storage name, and is removed by that name', () => {
  const storage = createMemoryStorage()
  const outbox = open(storage)
  const [a, b] = [entry(1), entry(2)]
  expect(outbox.add(a)).toBeUndefined()
  expect(outbox.add(b)).toBeUndefined()
  expect(storage.getItem(`track.e.${a.name}`)).toBe('1700000000001 DEMOSHOP {"n":1}')
  expect(Object.keys(storage)).toHaveLength(2)
  outbox.remove(a.name)
  expect(Object.keys(storage)).toEqual([`track.e.${b.name}`])
  expect(outbox.own()).toEqual([b])
  expect(outbox.all()).toEqual([b])
})

test('a later page finds the event unchanged', () => {
  const storage = createMemoryStorage()
  const kept = [
    entry(1),
    entry(2, { body: '{"url":"https://a.example/ {} x","text":"ä\\n😀"}' }),
    entry(3, { name: `${entry(3).name}.OTHERKEY`, key: 'OTHERKEY' }),
  ]
  for (const one of kept) open(storage).add(one)
  const later = open(storage)
  expect(later.own()).toEqual([])
  expect(later.all()).toEqual(kept)
  expect(later.all().map(({ name }) => idOf(name))).toEqual([1, 2, 3].map((n) => entry(n).name))
})

test('events of the page are in the order in which they were accepted', () => {
  const outbox = open(createMemoryStorage())
  for (const number of [1, 2, 3]) outbox.add(entry(number))
  expect(outbox.own()).toEqual([entry(1), entry(2), entry(3)])
})

test('two tabs do not overwrite or remove each other’s events', () => {
  const storage = createMemoryStorage()
  const [a, b] = [open(storage), open(storage)]
  for (let number = 0; number < 100; number++) (number % 2 ? a : b).add(entry(number))
  expect(a.all()).toHaveLength(100)
  for (const { name } of a.own()) a.remove(name)
  expect(a.all()).toEqual(b.own())
  expect(b.all()).toHaveLength(50)
})

test('two replays of one call are one event', () => {
  const storage = createMemoryStorage()
  const [a, b] = [open(storage), open(storage)]
  a.add(entry(1))
  b.add(entry(1))
  expect(a.all()).toEqual([entry(1)])
})

test.each([
  '',
  'junk',
  '{"a":',
  'null',
  '"text"',
  '{}',
  '1 DEMOSHOP',
  '1 DEMOSHOP {"a":1',
  '1 DEMOSHOP text',
  'soon DEMOSHOP {}',
  '-1 DEMOSHOP {}',
  '1  {}',
])('an invalid value in storage is removed: %j', (junk) => {
  const storage = createMemoryStorage()
  storage.setItem(`track.e.${entry(1).name}`, junk)
  storage.setItem(`track.e.${entry(2).name}`, '1 DEMOSHOP {}')
  storage.setItem('shop', junk)
  const outbox = open(storage)
  expect(outbox.all()).toEqual([entry(2, { at: 1, body: '{}' })])
  expect(Object.keys(storage)).toEqual([`track.e.${entry(2).name}`, 'shop'])
})

test('an entry whose name is not a UUID is removed, since it could get no verdict', () => {
  const storage = createMemoryStorage()
  storage.setItem('track.e.text', '1 DEMOSHOP {}')
  expect(open(storage).all()).toEqual([])
  expect(storage).toHaveLength(0)
})

test('other names in storage are left alone', () => {
  const storage = createMemoryStorage()
  for (const name of ['track.did', 'track.turn', 'track.e', 'xtrack.e.1', 'cart'])
    storage.setItem(name, 'junk')
  const outbox = open(storage)
  expect(outbox.all()).toEqual([])
  expect(callsOf(outbox)).toEqual([])
  expect(storage).toHaveLength(5)
})

test('a call that a stub stored is not an event, and is taken once', () => {
  const storage = createMemoryStorage()
  const call = '["search",[{"search_term":"mug"}],"https://a.example/",1,"id"]'
  storage.setItem(`track.e.${entry(1).name}`, call)
  const outbox = open(storage)
  outbox.add(entry(2))
  expect(outbox.all()).toEqual([entry(2)])
  expect(storage.getItem(`track.e.${entry(1).name}`)).toBe(call)
  expect(callsOf(outbox)).toEqual([call])
  expect(callsOf(outbox)).toEqual([])
  expect(outbox.all()).toEqual([entry(2)])
})

test('at most 262,144 characters are stored; further events are in memory', () => {
  const storage = createMemoryStorage()
  const outbox = open(storage)
  for (let number = 0; number < 2000; number++) {
    const { name } = entry(number)
    expect(
      outbox.add(entry(number, { key: 'K'.repeat(20), name: `${name}.${'K'.repeat(20)}` })),
    ).toBeUndefined()
  }
  const stored = Object.entries(storage).reduce((sum, [name]) => {
    return sum + name.length + (storage.getItem(name) ?? '').length
  }, 0)
  expect(stored).toBeLessThanOrEqual(262_144)
  expect(stored).toBeGreaterThan(200_000)
  expect(outbox.all()).toHaveLength(2000)
  expect(open(storage).all().length).toBe(storage.length)
})

test('the limit includes events of other tabs, as last seen', () => {
  const storage = createMemoryStorage()
  const [a, b] = [open(storage), open(storage)]
  const body = `{"x":"${'x'.repeat(10_000)}"}`
  for (let number = 0; number < 25; number++) a.add(entry(number, { body }))
  open(storage).add(entry(99, { body: `{"x":"${'x'.repeat(5000)}"}` }))
  const before = storage.length
  b.all()
  b.add(entry(100, { body }))
  expect(storage).toHaveLength(before)
  for (const { name } of a.own()) a.remove(name)
  b.all()
  b.add(entry(101, { body }))
  expect(Object.keys(storage)).toContain(`track.e.${entry(101).name}`)
  expect(b.own()).toHaveLength(2)
})

test('a page keeps at most 5,000 events', () => {
  const outbox = createOutbox(nowhere)
  for (let number = 0; number < 5000; number++) expect(outbox.add(entry(number))).toBeUndefined()
  expect(outbox.add(entry(5000))).toBe('outbox_full')
  outbox.remove(entry(7).name)
  expect(outbox.add(entry(5000))).toBeUndefined()
})

test('without storage events are in memory', () => {
  const outbox = createOutbox(nowhere)
  expect(outbox.add(entry(1))).toBeUndefined()
  expect(outbox.all()).toEqual([entry(1)])
  expect(callsOf(outbox)).toEqual([])
  outbox.remove(entry(1).name)
  expect(outbox.all()).toEqual([])
})

test('if the shop has filled the storage, events are in memory and its data stays', () => {
  const storage = createMemoryStorage(300)
  storage.setItem('cart', 'x'.repeat(250))
  const outbox = open(storage)
  outbox.add(entry(1))
  expect(outbox.all()).toEqual([entry(1)])
  expect(Object.keys(storage)).toEqual(['cart'])
})

test('if the shop clears the storage, events of this page are still there', () => {
  const storage = createMemoryStorage()
  open(storage).add(entry(1))
  const outbox = open(storage)
  outbox.add(entry(2))
  storage.clear()
  expect(outbox.all()).toEqual([entry(2)])
})

test('if storage and memory differ, memory counts', () => {
  const storage = createMemoryStorage()
  const outbox = open(storage)
  outbox.add(entry(1))
  storage.setItem(`track.e.${entry(1).name}`, '1 OTHERKEY {"forged":true}')
  expect(outbox.all()).toEqual([entry(1)])
})

test('a reset removes what is counted for reports of problems; other readings do not', () => {
  const storage = createMemoryStorage()
  const outbox = open(storage)
  for (const name of ['track.p.DEMOSHOP', 'track.p.OTHER1', 'track.c', 'own'])
    storage.setItem(name, 'x')
  outbox.all([])
  outbox.all()
  expect(storage).toHaveLength(4)
  outbox.all([], true)
  expect(Object.keys(storage)).toEqual(['track.c', 'own'])
})
