import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, rmSync, watch } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { EARLIER_SHOP, makeEarlierData } from '../../../test/earlierData.ts'
import { prepareGateway, recordsOf } from '../../../test/gateway.ts'
import { createBackup } from './createBackup.ts'
import { verifyBackup } from './verifyBackup.ts'

/** Upgrades and restores that are killed at any moment: many of them, each a little later than the one before. */
let prepared: Awaited<ReturnType<typeof prepareGateway>>
let running: ChildProcess | undefined
const ROUNDS = 60
const EVENTS = 2_000

beforeAll(async () => {
  prepared = await prepareGateway()
})
afterAll(async () => {
  running?.kill('SIGKILL')
  await prepared.end()
})

/** Data of 0.1.0 of some MiB, so that a copy takes a while. */
function makeData(): string {
  const dataDir = join(prepared.folder, 'earlier')
  mkdirSync(dataDir)
  makeEarlierData(dataDir, '0.1.0')
  const events = new Database(join(dataDir, 'events.db'))
  events.exec(`WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < ${EVENTS})
    INSERT INTO events (customer, id, received_at, at, operation, event, did, bot, payload)
    SELECT 'shop', randomblob(16), 1, 1, 'search', 'search', 'd', 0, hex(randomblob(2000)) FROM n`)
  events.close()
  return dataDir
}

/** Runs a command, and kills it after a number of changes of the folder. Resolves with whether it was killed. */
async function killAfter(changes: number, dataDir: string, args: readonly string[]) {
  const child = spawn(process.execPath, [join(prepared.folder, 'dist/shoptrail.js'), ...args], {
    env: { DATA_DIR: dataDir },
    stdio: 'ignore',
  })
  running = child
  let seen = 0
  const watcher = watch(dataDir, { recursive: true }, () => {
    seen++
    if (seen === changes) child.kill('SIGKILL')
  })
  const signal = await new Promise((resolve) => child.once('exit', (_, by) => resolve(by)))
  watcher.close()
  return signal === 'SIGKILL'
}

async function expectWhole(dataDir: string, events: number): Promise<void> {
  const gateway = await prepared.start({ dataDir })
  expect(await recordsOf(gateway)).toHaveLength(events)
  expect(gateway.customers.findByTrackingKey(EARLIER_SHOP.trackingKey)?.faults).toEqual([])
  await gateway.close()
  for (const name of ['events.db', 'customers.db']) {
    const database = new Database(join(dataDir, name), { readonly: true })
    expect(database.pragma('integrity_check', { simple: true })).toBe('ok')
    database.close()
  }
}

test('an upgrade that is killed at any moment loses nothing, and is finished by the next start', async () => {
  const earlier = makeData()
  let killed = 0
  for (let round = 1; round <= ROUNDS; round++) {
    const dataDir = join(prepared.folder, `upgrade-${round}`)
    cpSync(earlier, dataDir, { recursive: true })
    if (await killAfter(round, dataDir, ['data', 'upgrade'])) killed++
    await expectWhole(dataDir, EVENTS)
    for (const name of readdirSync(join(dataDir, 'upgrades')))
      await verifyBackup(join(dataDir, 'upgrades', name))
    rmSync(dataDir, { recursive: true })
  }
  expect(killed).toBeGreaterThan(5)
  rmSync(earlier, { recursive: true })
})

test('a restore that is killed at any moment leaves the old databases or the new ones, never a mixture', async () => {
  const earlier = makeData()
  const backup = join(prepared.folder, 'backup')
  await (await prepared.start({ dataDir: earlier })).close()
  await createBackup({ dataDir: earlier, folder: backup, now: Date.now })
  // What is there has fewer events, and another name of its customer.
  const events = new Database(join(earlier, 'events.db'))
  events.exec('DELETE FROM events WHERE seq > 1')
  events.close()
  const customers = new Database(join(earlier, 'customers.db'))
  customers.exec("UPDATE customers SET name = 'before'")
  customers.close()
  let killed = 0
  const names = new Set<string>()
  for (let round = 1; round <= ROUNDS; round++) {
    const dataDir = join(prepared.folder, `restore-${round}`)
    cpSync(earlier, dataDir, { recursive: true })
    if (await killAfter(round, dataDir, ['restore', backup, '--yes'])) killed++
    const gateway = await prepared.start({ dataDir })
    const name = gateway.customers.find('shop')?.name as string
    await gateway.close()
    names.add(name)
    await expectWhole(dataDir, name === 'before' ? 1 : EVENTS)
    rmSync(dataDir, { recursive: true })
  }
  expect(killed).toBeGreaterThan(5)
  expect([...names].sort()).toEqual(['Shop', 'before'])
})
