import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { makeFolder } from '../../test/gateway.ts'
import { openReports } from './reportTables.ts'
import { createTotals, STEP } from './reportTotals.ts'

const folder = makeFolder()
afterAll(() => rmSync(folder, { recursive: true }))

test('however many changes come before they are written, a bounded number is in memory', () => {
  const database = openReports(join(folder, 'reports.db'))
  const totals = createTotals(database)
  const written = () => database.prepare('SELECT count(*) FROM named').pluck().get() as number
  for (let utm = 1; utm <= 200; utm++) {
    for (let name = 0; name < 100; name++)
      totals.count(utm, utm, { at: 0, name, step: STEP.any }, 1)
    totals.applyMuch()
    expect(utm * 100 - written()).toBeLessThanOrEqual(10_100)
  }
  totals.apply()
  expect(written()).toBe(20_000)
  expect(totals.read(7)).toMatchObject({ visitors: 1, days: [{ date: '1970-01-01' }] })
  database.close()
})
