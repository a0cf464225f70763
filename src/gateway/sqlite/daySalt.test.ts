import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { makeFolder } from '../../test/gateway.ts'
import { Unavailable } from '../lib/unavailable.ts'
import { CHECK_MS, createSqliteDaySalt } from './daySalt.ts'

const DAY_MS = 86_400_000
const NOON = 20_000 * DAY_MS + DAY_MS / 2

let folder: string
let file: string
let clock: number
let errors: Error[]
let opened: { readonly close: () => void }[]

beforeEach(() => {
  vi.useFakeTimers()
  folder = makeFolder()
  file = join(folder, 'salt.db')
  clock = NOON
  errors = []
  opened = []
})
afterEach(() => {
  for (const salt of opened) salt.close()
  vi.useRealTimers()
  rmSync(folder, { recursive: true, force: true })
})

/** A gateway's salt. `hex` is a copy, since the buffer is overwritten when the salt is forgotten. */
function open(now = () => clock) {
  const { daySalt, close } = createSqliteDaySalt(
    file,
    now,
    (error) => void errors.push(error as Error),
  )
  const salt = { hex: () => daySalt(now()).toString('hex'), daySalt, close }
  opened.push(salt)
  return salt
}

function errorOf(run: () => unknown): Error | undefined {
  try {
    run()
    return undefined
  } catch (error) {
    return error as Error
  }
}

/** The files of the folder, of all folders in it too, that contain these bytes. */
const filesWith = (hex: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => {
    const path = join(folder, name)
    return statSync(path).isFile() && readFileSync(path).includes(Buffer.from(hex, 'hex'))
  })

test('a gateway that needs no salt makes no file', () => {
  open()
  vi.advanceTimersByTime(CHECK_MS)
  expect(readdirSync(folder)).toEqual([])
})

test('all gateways of a folder have one salt of 32 bytes for a day, also after a restart', () => {
  const first = open()
  const second = open()
  const hex = first.hex()
  expect(hex).toMatch(/^[\da-f]{64}$/)
  expect(second.hex()).toBe(hex)
  first.close()
  second.close()
  clock += DAY_MS / 2 - 1
  expect(open().hex()).toBe(hex)
  expect(filesWith(hex)).toEqual(['salt.db'])
  expect(statSync(file).mode & 0o777).toBe(0o600)
})

test('the next day has another salt for all gateways, and no file has the bytes of the old one', () => {
  const first = open()
  const second = open()
  const seen = [first.hex()]
  for (let day = 0; day < 5; day++) {
    clock += DAY_MS
    const hex = (day % 2 ? first : second).hex()
    expect([first.hex(), second.hex()]).toEqual([hex, hex])
    expect(seen).not.toContain(hex)
    expect(filesWith(hex)).toEqual(['salt.db'])
    for (const old of seen) expect(filesWith(old)).toEqual([])
    seen.push(hex)
  }
  expect(readdirSync(folder)).toEqual(['salt.db'])
})

test('a salt of before there were schema numbers is used, and one of a newer version is left alone', () => {
  const first = open()
  const hex = first.hex()
  first.close()
  const set = (version: number) => {
    const database = new Database(file)
    const before = database.pragma('user_version', { simple: true })
    database.pragma(`user_version = ${version}`)
    database.close()
    return before
  }
  expect(set(0)).toBe(1)
  const second = open()
  expect(second.hex()).toBe(hex)
  second.close()
  set(2)
  const third = open()
  expect(errorOf(third.hex)?.cause).toMatchObject({
    message: expect.stringContaining(`${file} was written by a newer version`),
  })
  third.close()
  expect(filesWith(hex)).toEqual(['salt.db'])
})

test('a gateway without events forgets the salt when its day is over, in the file and in memory', () => {
  const idle = open()
  const salt = idle.daySalt(clock)
  const hex = salt.toString('hex')
  vi.advanceTimersByTime(CHECK_MS)
  expect(filesWith(hex)).toEqual(['salt.db'])
  clock += DAY_MS / 2
  vi.advanceTimersByTime(CHECK_MS)
  expect(filesWith(hex)).toEqual([])
  expect(salt.every((byte) => byte === 0)).toBe(true)
})

test('a gateway that was not running at midnight forgets the old salt when it starts', () => {
  const before = open()
  const hex = before.hex()
  before.close()
  clock += DAY_MS
  expect(filesWith(hex)).toEqual(['salt.db'])
  open()
  expect(filesWith(hex)).toEqual([])
})

test('the file is not read for each event', () => {
  const salt = open()
  const hex = salt.hex()
  rmSync(file)
  expect(salt.hex()).toBe(hex)
  expect(readdirSync(folder)).toEqual([])
})

test('a clock that goes back over midnight keeps the salt until its day is over', () => {
  const salt = open()
  clock += DAY_MS
  const hex = salt.hex()
  clock -= DAY_MS / 2 + 1
  expect(salt.hex()).toBe(hex)
  expect(open().hex()).toBe(hex)
  clock += DAY_MS / 2 + 1
  expect(salt.hex()).toBe(hex)
  clock += DAY_MS
  expect(salt.hex()).not.toBe(hex)
  expect(filesWith(hex)).toEqual([])
})

test('a clock that goes back by more makes a new salt, which the others use within the next check', () => {
  const first = open()
  const second = open()
  const today = second.hex()
  clock += 1_000 * DAY_MS
  const wrong = first.hex()
  clock -= 1_000 * DAY_MS
  const hex = first.hex()
  expect([wrong, today]).not.toContain(hex)
  vi.advanceTimersByTime(CHECK_MS)
  expect(second.hex()).toBe(hex)
  expect([...filesWith(wrong), ...filesWith(today)]).toEqual([])
})

test.each([
  ['is not a database', () => writeFileSync(file, 'x'.repeat(5_000))],
  ['is empty', () => writeFileSync(file, '')],
  [
    'has pages that are damaged',
    () => {
      open().hex()
      const bytes = readFileSync(file)
      writeFileSync(file, bytes.fill(0xff, 4_096))
    },
  ],
  [
    'has a salt of another length',
    () => {
      open().hex()
      const database = new Database(file)
      database.exec("UPDATE day_salt SET salt = x'00'")
      database.close()
    },
  ],
])('a file that %s is replaced', (_, damage) => {
  damage()
  const salt = open()
  expect(salt.hex()).toMatch(/^[\da-f]{64}$/)
  expect(open().hex()).toBe(salt.hex())
  expect(errors).toEqual([])
})

test('a database of another application is not changed', () => {
  const other = new Database(file)
  other.exec('CREATE TABLE notes (text TEXT)')
  other.close()
  const before = readFileSync(file)
  expect(() => open().hex()).toThrow(Unavailable)
  expect(readFileSync(file)).toEqual(before)
  expect(errors.map(({ message }) => message)).toEqual([
    expect.stringContaining('is a database of another application'),
  ])
})

test('a salt that can not be stored is an answer to repeat, never the one of yesterday', () => {
  const salt = open()
  const hex = salt.hex()
  const blocker = new Database(file)
  blocker.exec('BEGIN EXCLUSIVE')
  vi.advanceTimersByTime(CHECK_MS)
  expect([salt.hex(), errors.length]).toEqual([hex, 0])
  clock += DAY_MS
  const thrown = errorOf(salt.hex)
  expect(thrown).toBeInstanceOf(Unavailable)
  const { message, cause } = thrown as Unavailable & { cause: Error }
  expect(message).toBe('The salt of the day can not be read or stored')
  expect(cause.message).toMatch(/salt\.db is locked by another process/)
  expect(`${message}${cause.message}${cause.stack}`).not.toContain(hex)
  // For a second it is not tried again, since each try may wait for the other process.
  expect(errorOf(salt.hex)).toBe(thrown)
  vi.advanceTimersByTime(3 * CHECK_MS)
  expect(errors).toHaveLength(1)
  blocker.exec('ROLLBACK')
  blocker.close()
  clock += 1_000
  expect(salt.hex()).toMatch(/^[\da-f]{64}$/)
  expect(salt.hex()).not.toBe(hex)
})

test('a file that can only be read has the salt of today for a start, and none for tomorrow', () => {
  const hex = open().hex()
  // The version of the format for writers: SQLite only reads a file of a later one.
  const bytes = readFileSync(file)
  writeFileSync(file, bytes.fill(3, 18, 19))
  const salt = open()
  expect([salt.hex(), errors.length]).toEqual([hex, 0])
  clock += DAY_MS
  vi.advanceTimersByTime(2 * CHECK_MS)
  expect(errors.map(({ message }) => message)).toEqual(
    Array(2).fill(expect.stringContaining('can not be opened for writing')),
  )
  expect(errorOf(salt.hex)).toBeInstanceOf(Unavailable)
})

test('without its folder there is no salt, and its path is only in the cause', () => {
  const salt = open()
  rmSync(folder, { recursive: true })
  const thrown = errorOf(salt.hex)
  expect(thrown?.message).not.toContain(folder)
  expect((thrown as Error & { cause: Error }).cause.message).toContain(file)
  mkdirSync(folder)
  clock += 1_000
  expect(salt.hex()).toMatch(/^[\da-f]{64}$/)
})
