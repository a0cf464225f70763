import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { runCommand } from '../test/command.ts'
import { makeFolder } from '../test/gateway.ts'
import type { LogEvent } from './collect/eventLog.ts'
import { type ExportOptions, prepareExport, type Terminal } from './exportCommand.ts'
import { readSettings } from './settings.ts'
import { toCells } from './sqlite/cells.ts'
import { createSqliteCustomers } from './sqlite/customers.ts'
import { openStore } from './sqlite/store.ts'

const base = makeFolder()
afterAll(() => rmSync(base, { recursive: true }))

const NOON = Date.UTC(2026, 10, 29, 12)
const FORMATS = ['ndjson', 'csv', 'parquet']

let dataDir: string
let out: string
let folders = 0
beforeEach(() => {
  const folder = join(base, `${++folders}`)
  dataDir = join(folder, 'data')
  out = join(folder, 'events')
  mkdirSync(dataDir, { recursive: true })
  const customers = createSqliteCustomers(join(dataDir, 'customers.db'))
  for (const customerId of ['shop', 'other']) customers.add({ customerId })
  customers.close()
})

const event = (number: number, fields: Partial<LogEvent> = {}): LogEvent => ({
  customer: 'shop',
  id: `00000000-0000-7000-8000-${`${number}`.padStart(12, '0')}`,
  at: NOON + number,
  receivedAt: NOON + 1_000 * number,
  operation: number % 3 ? 'viewProduct' : 'search',
  event: `event ${number}`,
  did: number % 2 ? 'd1' : null,
  bot: false,
  version: null,
  payload: JSON.stringify({ number, text: 'x'.repeat((number * 37) % 400) }),
  ...fields,
})

function store(...events: readonly LogEvent[]): void {
  const log = openStore(join(dataDir, 'events.db'))
  log.append(toCells(events))
  log.close()
}

const range = (from: number, to: number, fields?: Partial<LogEvent>) =>
  Array.from({ length: to - from + 1 }, (_, i) => event(from + i, fields))

/** Collects what is written to it. */
function createTerminal(groupRecords = 500) {
  const chunks: Uint8Array[] = []
  const reports: string[] = []
  const stop = new AbortController()
  const terminal: Terminal = {
    stdout: new Writable({
      write(chunk, _, done) {
        chunks.push(chunk)
        done()
      },
    }),
    report: (line) => reports.push(line),
    signal: stop.signal,
    groupRecords,
  }
  return { terminal, stop, reports, written: () => Buffer.concat(chunks) }
}

function settings() {
  const read = readSettings({ DATA_DIR: dataDir }, {})
  if (!read.ok) throw new Error(read.message)
  return read.settings
}

async function run(options: ExportOptions, given = createTerminal()) {
  const work = prepareExport({ customer: 'shop', ...options }, settings(), given.terminal)
  if (typeof work !== 'function') throw new Error(work.lines.join())
  return { ...(await work()), written: given.written(), reports: given.reports }
}

/** The numbers of the events in ndjson. */
const numbersIn = (bytes: Buffer): number[] =>
  bytes
    .toString()
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(JSON.parse(line).payload).number)

const sequence = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, i) => from + i)

test('the events of one customer, in order, without those that were removed', async () => {
  store(...range(1, 20), event(21, { customer: 'other' }), event(22))
  const log = openStore(join(dataDir, 'events.db'))
  log.removeEvents([3, 20])
  log.close()
  const { code, errors, written } = await run({ format: 'ndjson' })
  expect({ code, errors }).toEqual({ code: 0, errors: ['Exported 19 events.'] })
  expect(numbersIn(written)).toEqual([...sequence(1, 20), 22].filter((n) => n !== 3 && n !== 20))
})

test('events by the time of their arrival and by operation', async () => {
  store(...range(1, 60))
  const [from, to] = ['2026-11-29T12:00:10Z', '2026-11-29T12:00:20Z']
  expect(numbersIn((await run({ format: 'ndjson', from, to })).written)).toEqual(sequence(10, 19))
  expect(
    numbersIn((await run({ format: 'ndjson', from, to, operation: ['search'] })).written),
  ).toEqual([12, 15, 18])
})

test('orders and subscribers, by their operations', async () => {
  const record = (number: number, operation: string, payload: object) =>
    event(number, { operation, event: operation, did: null, payload: JSON.stringify(payload) })
  store(
    event(1),
    record(2, 'saveOrder', { number: '1042', total_value: '12.50' }),
    record(3, 'removeSubscriber', { email: 'ana@shop.example' }),
  )
  const { written } = await run({ format: 'ndjson', operation: ['saveOrder', 'addSubscriber'] })
  expect(JSON.parse(written.toString())).toMatchObject({
    ...{ operation: 'saveOrder', event: 'saveOrder', did: null, cookieless: false, version: null },
    payload: '{"number":"1042","total_value":"12.50"}',
  })
  const csv = await run({ format: 'csv', operation: ['removeSubscriber'] })
  expect(csv.written.toString()).toContain('"{""email"":""ana@shop.example""}"')
})

test('an event whose neighbours arrived by another clock is found', async () => {
  store(...range(1, 20), event(21, { receivedAt: NOON }), ...range(22, 60))
  const bounds = { from: '2026-11-29T12:00:30Z', to: '2026-11-29T12:00:32Z' }
  store(event(61, { receivedAt: NOON + 31_000 }))
  expect(numbersIn((await run({ format: 'ndjson', ...bounds })).written)).toEqual([30, 31, 61])
  const early = { from: '2026-11-29', to: '2026-11-29T12:00:01Z' }
  expect(numbersIn((await run({ format: 'ndjson', ...early })).written)).toEqual([21])
})

test.each(FORMATS)('%s: to stdout and to a file are the same bytes', async (format) => {
  store(...range(1, 100))
  const { written } = await run({ format }, createTerminal(30))
  expect(await run({ format, out }, createTerminal(30))).toMatchObject({
    code: 0,
    errors: [`Exported 100 events to ${out}.`],
  })
  expect(readFileSync(out).equals(written)).toBe(true)
  expect(readdirSync(join(out, '..'))).toEqual(['data', 'events'])
  expect(statSync(out).mode & 0o777).toBe(0o600)
})

test.each(FORMATS)(
  '%s: interrupted at any point, it continues to the same bytes',
  async (format) => {
    store(...range(1, 3_000))
    const { written } = await run({ format }, createTerminal(100))
    let rounds = 0
    for (;;) {
      const given = createTerminal(100)
      // A signal during the first step of the log, which has some groups.
      given.stop.abort()
      const { code, reports } = await run({ format, out }, given)
      if (code === 0) break
      expect(code).toBe(130)
      if (rounds > 0) expect(reports[0]).toMatch(/^Continues after [\d,]+ events\.$/)
      // The next write was broken off in the middle, and events arrive.
      appendFileSync(`${out}.part`, Buffer.alloc(1 + 1_000 * rounds, 'x'))
      store(event(5_000 + rounds))
      rounds++
      if (rounds > 10) throw new Error('It makes no progress')
    }
    expect(rounds).toBeGreaterThan(1)
    expect(readFileSync(out).equals(written)).toBe(true)
  },
)

test('an interrupted export is continued with the same options only', async () => {
  store(...range(1, 3_000))
  const given = createTerminal()
  given.stop.abort()
  expect((await run({ format: 'csv', out }, given)).code).toBe(130)
  const { code, errors } = await run({ format: 'csv', out, to: '2026-11-30' })
  expect(code).toBe(1)
  expect(errors?.[0]).toContain('other options')
  expect((await run({ format: 'csv', out })).code).toBe(0)
})

test('an export is not continued over another log', async () => {
  store(...range(1, 3_000))
  const given = createTerminal()
  given.stop.abort()
  await run({ format: 'csv', out }, given)
  for (const name of readdirSync(dataDir).filter((name) => name.startsWith('events.db')))
    rmSync(join(dataDir, name))
  store(...range(5_001, 8_000))
  const { code, errors } = await run({ format: 'csv', out })
  expect(code).toBe(1)
  expect(errors?.[0]).toContain('another one')
})

test('an existing file is not overwritten', async () => {
  store(event(1))
  writeFileSync(out, 'mine')
  const { code, errors } = await run({ format: 'csv', out })
  expect(code).toBe(1)
  expect(errors?.[0]).toContain('exists already')
  expect(readFileSync(out, 'utf8')).toBe('mine')
  rmSync(out)
  writeFileSync(`${out}.part`, 'mine')
  expect((await run({ format: 'csv', out })).code).toBe(1)
  expect(readFileSync(`${out}.part`, 'utf8')).toBe('mine')
})

test('only one process writes a file', async () => {
  store(...range(1, 3_000))
  const results = await Promise.all([run({ format: 'csv', out }), run({ format: 'csv', out })])
  expect(results.map(({ code }) => code).sort()).toEqual([0, 1])
  expect(results.flatMap(({ errors = [] }) => errors).join()).toContain('Another process')
})

test('a reader that ends makes the command fail', async () => {
  store(...range(1, 3_000))
  const given = createTerminal()
  ;(given.terminal.stdout as Writable).destroy(new Error('EPIPE'))
  const { code, errors } = await run({ format: 'csv' }, given)
  expect({ code, errors }).toEqual({ code: 1, errors: ['The output is incomplete: EPIPE'] })
})

test('a customer that is not known is refused, and nothing is written', async () => {
  store(event(1))
  expect(await run({ customer: 'shpo', format: 'csv', out })).toMatchObject({
    code: 1,
    errors: [`There is no customer shpo in ${dataDir}`],
  })
  expect(existsSync(`${out}.part`)).toBe(false)
})

test.each<[string, readonly string[], string]>([
  ['no customer', ['--format', 'csv'], 'Expected the id of a customer'],
  ['no format', ['--customer', 'shop'], 'Expected --format ndjson, csv, parquet'],
  ['a wrong format', ['--customer', 'shop', '--format', 'parket'], 'Did you mean parquet?'],
  ['a wrong time', ['--customer', 'shop', '--format', 'csv', '--to', 'today'], 'Expected --to'],
  [
    'a wrong operation',
    ['--customer', 'shop', '--format', 'csv', '--operation', 'serch'],
    'Did you mean search?',
  ],
  [
    'an operation that is like no other',
    ['--customer', 'shop', '--format', 'csv', '--operation', 'purchases'],
    'Expected one of all, viewHomepage, ',
  ],
])('a command line with %s is refused', (_, options, message) => {
  const { status, stderr } = runCommand(['export', ...options], { DATA_DIR: dataDir })
  expect(status).toBe(64)
  expect(stderr).toContain(message)
})

test('a table is not written to a terminal', () => {
  const { terminal } = createTerminal()
  Object.assign(terminal.stdout, { isTTY: true })
  for (const format of ['csv', 'parquet'])
    expect(prepareExport({ customer: 'shop', format }, settings(), terminal)).toMatchObject({
      ok: false,
      lines: [expect.stringContaining('--out FILE')],
    })
})
