import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runCommand, runProcess } from '../../../test/command.ts'
import {
  EARLIER,
  EARLIER_SHOP,
  insertAsEarlier,
  makeEarlierData,
} from '../../../test/earlierData.ts'
import { prepareGateway, recordsOf, send } from '../../../test/gateway.ts'
import { version } from '../../lib/version.ts'
import { openDatabase } from '../database.ts'
import { DATABASES } from '../databases.ts'
import { type Schema, versionOf } from '../schema.ts'
import { InUse } from './locks.ts'
import { upgradeData } from './upgrade.ts'
import { verifyBackup } from './verifyBackup.ts'

let prepared: Awaited<ReturnType<typeof prepareGateway>>
const children: ChildProcess[] = []
let folders = 0

beforeAll(async () => {
  prepared = await prepareGateway()
})
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL')
  await prepared.end()
})

function nextFolder(): string {
  const folder = join(prepared.folder, `data-${++folders}`)
  mkdirSync(folder)
  return folder
}
const upgrades = (dataDir: string) =>
  existsSync(join(dataDir, 'upgrades')) ? readdirSync(join(dataDir, 'upgrades')).sort() : []
const read = (file: string, sql: string) => {
  const database = new Database(file)
  const rows = database.prepare(sql).pluck().all()
  database.close()
  return rows
}
const newestOf = (name: string) =>
  versionOf(DATABASES.find((one) => one.name === name)?.schema as Schema)
const versionIn = (file: string) => read(file, 'PRAGMA user_version')[0]

/** A database that grows by a migration. */
const FIRST: Schema = {
  tables: 'CREATE TABLE IF NOT EXISTS things (id INTEGER PRIMARY KEY) STRICT',
  probe: 'SELECT id FROM things',
}
const ADDS: Schema = {
  ...FIRST,
  migrations: [{ sql: 'ALTER TABLE things ADD COLUMN name TEXT', adds: true }],
}
const BREAKS: Schema = {
  ...FIRST,
  migrations: [
    ...(ADDS.migrations ?? []),
    { sql: 'ALTER TABLE things RENAME COLUMN name TO title', adds: false },
  ],
}
const upgrade = (dataDir: string, schema: Schema) =>
  upgradeData({
    dataDir,
    databases: [{ name: 'things.db', schema }],
    backup: false,
    now: Date.now,
  })

test.each(EARLIER)('a gateway upgrades the data of %s after a backup, once', async (form) => {
  const dataDir = nextFolder()
  makeEarlierData(dataDir, form)
  const steps: string[] = []
  const start = () => prepared.start({ dataDir, onUpgrade: (step) => steps.push(step) })
  const gateway = await start()
  expect(gateway.customers.find('shop')).toMatchObject({ name: 'Shop', faults: [] })
  expect(await recordsOf(gateway)).toMatchObject([{ id: EARLIER_SHOP.eventId, version: null }])
  const event = { did: 'd', event: 'search', search_term: 'mug', url: 'https://shop.example/' }
  const post = (id: string) =>
    send(gateway.url, `/t/r?k=SHOPKEY1&id=${id}`, {
      method: 'POST',
      headers: { origin: 'https://shop.example' },
      body: JSON.stringify({ ...event, http_user_agent: 'UA/1' }),
    })
  // Stored before the upgrade, so it is a duplicate.
  expect((await post(EARLIER_SHOP.eventId)).status).toBe(200)
  expect((await post('0190f3a2-7c41-7d11-9a3e-5f2b8c6d4e11')).status).toBe(200)
  expect(await recordsOf(gateway)).toHaveLength(2)
  await gateway.close()
  for (const name of ['events.db', 'customers.db']) {
    expect(versionIn(join(dataDir, name))).toBe(newestOf(name))
    expect(read(join(dataDir, name), 'SELECT DISTINCT made_by FROM schema_versions')).toEqual([
      version,
    ])
  }
  const [backup, ...more] = upgrades(dataDir)
  expect(more).toEqual([])
  expect(backup).toMatch(/^\d{4}-\d\d-\d\dT\d{6}\.\d{3}Z-before-.+$/)
  const manifest = await verifyBackup(join(dataDir, 'upgrades', backup as string))
  expect(manifest).toMatchObject({
    position: 1,
    files: [
      { name: 'events.db', schema: 0 },
      { name: 'customers.db', schema: 0 },
    ],
  })
  expect(steps).toEqual([
    `Backing up the databases to upgrades/${backup} before their upgrade`,
    `events.db was upgraded to schema ${newestOf('events.db')}`,
    `customers.db was upgraded to schema ${newestOf('customers.db')}`,
  ])
  expect(existsSync(join(dataDir, 'upgrade.lock'))).toBe(false)

  await (await start()).close()
  expect(upgrades(dataDir)).toEqual([backup])
  expect(steps).toHaveLength(3)
})

test('commands refuse data of an earlier version, and say how to upgrade it', () => {
  const dataDir = nextFolder()
  makeEarlierData(dataDir, '0.1.0')
  const listed = runCommand(['customer', 'list'], { DATA_DIR: dataDir })
  expect(listed.status).toBe(1)
  expect(listed.stderr).toMatch(
    /^(events|customers)\.db is from an earlier version of shoptrail\. Start the gateway, or run: npx shoptrail data upgrade\n$/,
  )
  const env = { DATA_DIR: dataDir, UPGRADE_BACKUP: 'off' }
  const run = () => runProcess(prepared.folder, ['data', 'upgrade'], env)
  expect(run()).toEqual({
    status: 0,
    stdout: `events.db was upgraded to schema ${newestOf('events.db')}\ncustomers.db was upgraded to schema ${newestOf('customers.db')}\n`,
    stderr: '',
  })
  expect(upgrades(dataDir)).toEqual([])
  expect(run().stdout).toBe(`There is nothing to upgrade in ${dataDir}.\n`)
  expect(runCommand(['customer', 'list'], env).stdout).toContain('SHOPKEY1')
})

test('a gateway of 0.1.0 that is running goes on over the upgraded log, and what resets its number upgrades nothing', async () => {
  const dataDir = nextFolder()
  makeEarlierData(dataDir, '0.1.0')
  const running = new Database(join(dataDir, 'events.db'))
  running.prepare('SELECT * FROM events').all()
  const gateway = await prepared.start({ dataDir })
  insertAsEarlier(running, '0190f3a2-7c41-7d11-9a3e-5f2b8c6d4e12')
  // What it does when its disk has failed.
  running.pragma('user_version = 0')
  running.close()
  expect(await recordsOf(gateway)).toHaveLength(2)
  await gateway.close()
  await (await prepared.start({ dataDir })).close()
  expect(upgrades(dataDir)).toHaveLength(1)
})

test('a database of a newer version is refused, with the version that has written it', async () => {
  const dataDir = nextFolder()
  await (await prepared.start({ dataDir })).close()
  const database = new Database(join(dataDir, 'events.db'))
  database.exec("INSERT INTO schema_versions VALUES (7, '9.1.0', 1); PRAGMA user_version = 7")
  database.close()
  const refusal = `events.db was written by shoptrail 9.1.0: its schema is 7, and shoptrail ${version} knows ${newestOf('events.db')}. Start that version or a newer one, or restore the backup that it made before its upgrade (docs/backup.md)`
  await expect(prepared.start({ dataDir })).rejects.toThrow(refusal)
  expect(runCommand(['customer', 'list'], { DATA_DIR: dataDir }).stderr).toContain(refusal)
  expect(() => openDatabase(join(dataDir, 'events.db'), FIRST)).toThrow('events.db')
})

test('migrations run once, in order; a fresh database has them too', async () => {
  const dataDir = nextFolder()
  const file = join(dataDir, 'things.db')
  openDatabase(file, FIRST).close()
  expect(await upgrade(dataDir, BREAKS)).toBe(true)
  expect(await upgrade(dataDir, BREAKS)).toBe(false)
  expect(read(file, 'SELECT version FROM schema_versions')).toEqual([1, 2, 3])
  const fresh = join(dataDir, 'fresh.db')
  openDatabase(fresh, BREAKS).close()
  for (const one of [file, fresh]) {
    expect(versionIn(one)).toBe(3)
    expect(read(one, "SELECT name FROM pragma_table_info('things')")).toEqual(['id', 'title'])
  }
})

test('what only adds is migrated beside an open connection; what breaks waits until it is alone', async () => {
  const dataDir = nextFolder()
  const file = join(dataDir, 'things.db')
  const old = openDatabase(file, FIRST)
  old.prepare('SELECT * FROM things').all()
  expect(await upgrade(dataDir, ADDS)).toBe(true)
  old.exec('INSERT INTO things (id) VALUES (1)')
  const refused = expect(upgrade(dataDir, BREAKS)).rejects
  await refused.toThrow(InUse)
  await expect(upgrade(dataDir, BREAKS)).rejects.toThrow(
    'things.db is in use by another gateway, and this version changes its form. Stop the other one first',
  )
  expect(versionIn(file)).toBe(2)
  old.exec('INSERT INTO things (id) VALUES (2)')
  old.close()
  expect(await upgrade(dataDir, BREAKS)).toBe(true)
  expect(read(file, 'SELECT id FROM things')).toEqual([1, 2])
})

test('a migration that fails changes nothing', async () => {
  const dataDir = nextFolder()
  const file = join(dataDir, 'things.db')
  openDatabase(file, FIRST).close()
  const wrong: Schema = {
    ...ADDS,
    migrations: [...(ADDS.migrations ?? []), { sql: 'ALTER TABLE nothing', adds: true }],
  }
  await expect(upgrade(dataDir, wrong)).rejects.toThrow('things.db')
  expect(versionIn(file)).toBe(1)
  expect(read(file, "SELECT name FROM pragma_table_info('things')")).toEqual(['id'])
})

test('two gateways that start at once make one backup, and both start', async () => {
  const dataDir = nextFolder()
  makeEarlierData(dataDir, '0.1.0')
  const both = await Promise.all([prepared.start({ dataDir }), prepared.start({ dataDir })])
  await expect
    .poll(() => both.map((gateway) => gateway.isOpen()), { timeout: 20_000 })
    .toEqual([true, true])
  expect(upgrades(dataDir)).toHaveLength(1)
  await Promise.all(both.map((gateway) => gateway.close()))
})

test('the two newest backups are kept, and those that were broken off are removed', async () => {
  const dataDir = nextFolder()
  makeEarlierData(dataDir, '0.1.0')
  const broken = join(dataDir, 'upgrades/2026-01-01T000000Z-before-x')
  mkdirSync(broken, { recursive: true })
  writeFileSync(join(broken, 'events.db'), 'half')
  let at = Date.parse('2026-11-29T10:00:00Z')
  for (let i = 0; i < 3; i++) {
    at += 1_000
    await upgradeData({ dataDir, now: () => at })
    for (const name of ['events.db', 'customers.db']) {
      const database = new Database(join(dataDir, name))
      database.exec('DROP TABLE schema_versions; PRAGMA user_version = 0')
      database.close()
    }
  }
  expect(upgrades(dataDir)).toEqual(
    ['02', '03'].map((second) => `2026-11-29T1000${second}.000Z-before-${version}`),
  )
})

/** Starts a gateway, and kills it as soon as it has reported a step. */
async function killAt(dataDir: string, step: string): Promise<void> {
  const child = spawn(process.execPath, [join(prepared.folder, 'dist/shoptrail.js'), 'start'], {
    env: { PORT: '0', DATA_DIR: dataDir },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  children.push(child)
  await new Promise<void>((resolve, reject) => {
    let output = ''
    const listen = (chunk: Buffer) => {
      output += chunk
      if (output.includes(step)) child.kill('SIGKILL')
    }
    child.stdout.on('data', listen)
    child.stderr.on('data', listen)
    child.once('close', () => (output.includes(step) ? resolve() : reject(new Error(output))))
  })
}

test.each(['Backing up the databases', 'events.db was upgraded'])(
  'a process that is killed at "%s" leaves the old form or the new one',
  async (step) => {
    const dataDir = nextFolder()
    makeEarlierData(dataDir, '0.1.0')
    await killAt(dataDir, step)
    const gateway = await prepared.start({ dataDir })
    expect(await recordsOf(gateway)).toHaveLength(1)
    await gateway.close()
    for (const name of ['events.db', 'customers.db'])
      expect(versionIn(join(dataDir, name))).toBe(newestOf(name))
    const backups = upgrades(dataDir).map((name) => verifyBackup(join(dataDir, 'upgrades', name)))
    // If the log was upgraded by then, the second one is of the customers only.
    const [first, ...second] = (await Promise.all(backups)).map(({ position }) => position)
    expect(first).toBe(1)
    for (const position of second) expect(position).toBe(null)
  },
)

test('without enough room for the backup nothing is changed, and the sentence says what to do', async () => {
  const dataDir = nextFolder()
  makeEarlierData(dataDir, '0.1.0')
  // A sparse file, as a log that is larger than the disk. SQLite uses the size in the header.
  truncateSync(join(dataDir, 'events.db'), 2 ** 43)
  await expect(prepared.start({ dataDir })).rejects.toThrow(
    /has [\d,]+ MiB left, and the copy needs [\d,]+ MiB\. Make room\. Or, if you have a backup of your own, start without one: UPGRADE_BACKUP=off/,
  )
  expect(versionIn(join(dataDir, 'customers.db'))).toBe(0)
  const gateway = await prepared.start({ dataDir, upgradeBackup: false })
  expect(await recordsOf(gateway)).toHaveLength(1)
  await gateway.close()
})
