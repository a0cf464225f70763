import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { makeFolder } from '../../test/gateway.ts'
import { createReportConnection } from './reportConnection.ts'
import { openLog } from './reportLog.ts'
import { openReports } from './reportTables.ts'
import { openStore } from './store.ts'

/** How SQLite finds the rows of each query of the reports, in a file of which it has no statistics. */
const folder = makeFolder()
afterAll(() => rmSync(folder, { recursive: true }))

/** The steps of every statement that changes or reads the reports' file. */
function plansOfReports(): ReadonlyMap<string, readonly string[]> {
  const eventsFile = join(folder, 'events.db')
  openStore(eventsFile).close()
  const log = openLog(eventsFile)
  const database = openReports(join(folder, 'reports.db'))
  const queries: string[] = []
  const prepare = database.prepare.bind(database)
  database.prepare = ((source: string) => {
    queries.push(source)
    return prepare(source)
  }) as typeof database.prepare
  createReportConnection(database, log, {})
  const plans = queries.map((source) => {
    const names = [...source.matchAll(/@(\w+)/g)].map(([, name]) => [name, null] as const)
    const values = [...source.matchAll(/\?/g)].map(() => null)
    const steps = prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${source}`).all(
      ...values,
      ...(names.length > 0 ? [Object.fromEntries(names)] : []),
    )
    return [source.replaceAll(/\s+/g, ' ').trim(), steps.map(({ detail }) => detail)] as const
  })
  database.close()
  log.close()
  return new Map(plans)
}

const plans = plansOfReports()

test('no query reads a whole table of events, devices or orders', () => {
  const scans = [...plans].flatMap(([source, steps]) =>
    steps
      .filter((step) => /^SCAN (?!\(|CONSTANT|position|customers)/.test(step))
      .map((step) => [source, step]),
  )
  // Once at the start.
  expect(scans).toEqual([['SELECT seen FROM devices', 'SCAN devices']])
})

test.each([
  ['SELECT address FROM links', 'links', 'address>?'],
  ['DELETE FROM links WHERE customer = @customer', 'links', 'address>? AND address<?'],
  ['SELECT number FROM orders', 'orders', 'number>?'],
  ['UPDATE orders SET seq = NULL, address = NULL', 'orders', 'number>? AND number<?'],
  ['DELETE FROM orders WHERE customer = @customer', 'orders', 'number>? AND number<?'],
])('a step that forgets reads its own rows of one customer: %s', (source, table, range) => {
  const [, steps] = [...plans].find(([other]) => other.startsWith(source)) ?? []
  expect(steps?.[0]).toMatch(
    new RegExp(`^SEARCH ${table} USING (COVERING )?INDEX sqlite_autoindex`),
  )
  expect(steps?.[0]?.endsWith(`(customer=? AND ${range})`)).toBe(true)
})

test('the orders of a report are read by the devices of a block', () => {
  const [, steps] =
    [...plans].find(([source]) => source.startsWith('SELECT device, at, total, currency')) ?? []
  expect(steps?.[0]).toBe('SEARCH orders USING INDEX orders_by_visit (device>? AND device<?)')
})
