import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { makeFolder } from '../../test/gateway.ts'
import { createBlocks, JOINED_ROWS, type Touch } from './reportBlocks.ts'
import { BLOCK_DEVICES, openReports } from './reportTables.ts'

const folder = makeFolder()
let files = 0
afterAll(() => rmSync(folder, { recursive: true }))

const FIRST = 3 * BLOCK_DEVICES

const touch = (device: number, at: number, id = at, name = 1): Touch => ({
  device: FIRST + device,
  at,
  id: Buffer.alloc(16, id),
  name,
  step: 2,
  utm: null,
})

function open(maxTouches?: number) {
  const database = openReports(join(folder, `reports-${++files}.db`))
  const blocks = createBlocks(database, maxTouches)
  return {
    ...blocks,
    add(touches: readonly Touch[]) {
      blocks.add(touches)
      blocks.write()
    },
    rows: () => database.prepare('SELECT count(*) FROM touches').pluck().get(),
    read() {
      const { length, devices, at, names } = blocks.read(3)
      return Array.from({ length }, (_, i) => [(devices[i] ?? 0) - FIRST, at[i], names[i]])
    },
    close: () => database.close(),
  }
}

test('touches are read by device, time and id, each once', () => {
  const { add, read, close } = open()
  add([touch(1, 5), touch(0, 7), touch(1, 4, 9, 2), touch(BLOCK_DEVICES, 1)])
  add([touch(1, 4, 8, 3), touch(BLOCK_DEVICES - 1, 1), touch(1, 5, 5, 4)])
  expect(read()).toEqual([
    [0, 7, 1],
    [1, 4, 3],
    [1, 4, 2],
    [1, 5, 1],
    [BLOCK_DEVICES - 1, 1, 1],
  ])
  close()
})

test('many rows of a block are joined, a bounded number at once', () => {
  const { add, join: joinRows, read, rows, close } = open()
  const count = 2 * JOINED_ROWS + 40
  for (let i = 0; i < count; i++) add([touch(1, count - i, 1, i + 1), touch(BLOCK_DEVICES, 1)])
  // Of two equal ones the first stays.
  add([touch(1, count, 1, 9_999)])
  const before = read()
  expect(before.map(([, at]) => at)).toEqual(Array.from({ length: count }, (_, i) => i + 1))
  expect(before.at(-1)?.[2]).toBe(1)
  const left: unknown[] = []
  while (joinRows(3)) left.push(rows())
  const all = 2 * count + 1
  const joined = JOINED_ROWS - 1
  // Those that are joined already count as one row.
  expect(left).toEqual([all - joined, all - 2 * joined, all - count])
  expect(read()).toEqual(before)
  close()
})

test('large rows are not joined, and neither are a few small ones', () => {
  const { add, join: joinRows, rows, close } = open()
  // 108 kB each, so two of them are joined at most.
  const large = Array.from({ length: 3_000 }, (_, i) => touch(i % BLOCK_DEVICES, i))
  for (let i = 0; i < 40; i++) add(large)
  for (let i = 0; i < 25; i++) add([touch(1, 5_000 + i)])
  expect([joinRows(3), rows()]).toEqual([false, 65])
  for (let i = 0; i < 10; i++) add([touch(1, 6_000 + i)])
  expect([joinRows(3), rows(), joinRows(3)]).toEqual([true, 39, false])
  close()
})

test('of a block with too many touches, the later ones of the busiest devices are dropped', () => {
  const { add, read, close } = open(20)
  for (let i = 0; i < 50; i++) add([touch(1, 100 + i), touch(2, 200 + i)])
  add([touch(0, 1), touch(3, 1), touch(3, 2)])
  const of = (device: number) => read().filter((touch) => touch[0] === device).length
  expect([0, 1, 2, 3].map(of)).toEqual([1, 8, 8, 2])
  expect(read()[1]).toEqual([1, 100, 1])
  close()
})

test('a touch that is deleted is gone, and the others stay', () => {
  const { add, rewrite, read, rows, close } = open()
  add([touch(1, 1), touch(1, 2), touch(2, 2)])
  rewrite(3, ({ device, at, id }) => device !== FIRST + 1 || at !== 2 || id[0] !== 2)
  expect(read()).toEqual([
    [1, 1, 1],
    [2, 2, 1],
  ])
  rewrite(3, () => false)
  expect([read(), rows()]).toEqual([[], 0])
  close()
})
