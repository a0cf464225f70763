import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { runCommand, runProcess } from '../test/command.ts'
import { prepareGateway, recordsOf, send } from '../test/gateway.ts'
import { runCommandLine } from './cli.ts'
import type { Gateway } from './index.ts'
import { hashFile } from './sqlite/backup/manifest.ts'

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

/** Long enough for a machine whose cores are all busy. */
const SOON = { timeout: 20_000 }
const ORIGIN = 'https://shop.example'
const nextFolder = (name = 'data') => join(prepared.folder, `${name}-${++folders}`)

/** Runs a command in this process, which is faster than in one of its own. */
async function run(args: readonly string[], DATA_DIR: string) {
  const outcome = runCommandLine(args, { DATA_DIR })
  if (!outcome.work) return runCommand(args, { DATA_DIR })
  const { code, lines, errors } = await outcome.work()
  const text = (of: readonly string[] = []) => of.map((line) => `${line}\n`).join('')
  return { status: code, stdout: text(lines), stderr: text(errors) }
}

/** Runs a command while this process goes on. */
function begin(args: readonly string[], DATA_DIR: string) {
  const child = spawn(process.execPath, [join(prepared.folder, 'dist/shoptrail.js'), ...args], {
    env: { DATA_DIR },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  children.push(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      output += chunk
    })
  return new Promise<{ code: number | null; output: string }>((resolve) =>
    child.once('close', (code) => resolve({ code, output })),
  )
}

const post = ({ url }: Gateway, id: string, text = 'mug') =>
  send(url, `/t/r?k=SHOPKEY1&id=${id}`, {
    method: 'POST',
    headers: { origin: ORIGIN },
    body: JSON.stringify({
      did: 'd-1',
      event: 'search',
      search_term: text,
      url: `${ORIGIN}/`,
      http_user_agent: 'UA/1',
    }),
  })
const idsOf = async (gateway: Gateway) => (await recordsOf(gateway)).map(({ id }) => id)
const namesIn = (folder: string) => readdirSync(folder).sort()

/** A folder that a gateway has used, with one event, and a backup of it. */
async function backUp() {
  const [dataDir, backup] = [nextFolder(), nextFolder('backup')]
  const gateway = await prepared.start({ dataDir })
  gateway.customers.add({ customerId: 'shop', trackingKey: 'SHOPKEY1', origins: [ORIGIN] })
  const id = randomUUID()
  expect((await post(gateway, id)).status).toBe(200)
  await gateway.close()
  expect(await run(['backup', backup], dataDir)).toMatchObject({ status: 0, stderr: '' })
  return { dataDir, backup, id }
}

test('a backup under load has every event that was acknowledged before, and writers do not wait for it', async () => {
  const [dataDir, backup] = [nextFolder(), nextFolder('backup')]
  const gateway = await prepared.start({ dataDir })
  gateway.customers.add({ customerId: 'shop', trackingKey: 'SHOPKEY1', origins: [ORIGIN] })
  // A log that takes a while to copy.
  const log = new Database(join(dataDir, 'events.db'))
  log.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
    INSERT INTO events (customer, id, received_at, at, operation, event, did, bot, payload)
    SELECT 'other', randomblob(16), 1, 1, 'search', 'search', 'd', 0, hex(randomblob(1000)) FROM n`)
  log.close()
  const acknowledged: string[] = []
  let isOver = false
  onTestFinished(() => {
    isOver = true
  })
  async function write(): Promise<void> {
    while (!isOver) {
      const id = randomUUID()
      expect((await post(gateway, id)).status).toBe(200)
      acknowledged.push(id)
    }
  }
  // Few: the command shares the processor with them.
  const writers = Array.from({ length: 3 }, write)
  await expect.poll(() => acknowledged.length, SOON).toBeGreaterThan(100)
  const before = [...acknowledged]
  const { code, output } = await begin(['backup', backup], dataDir)
  const after = acknowledged.length
  isOver = true
  await Promise.all(writers)
  expect([code, output]).toEqual([0, expect.stringContaining(`was backed up to ${backup}.\n`)])
  // The writers have gone on, and some of their events came after its moment.
  expect(after).toBeGreaterThan(before.length)
  const { position } = JSON.parse(readFileSync(join(backup, 'backup.json'), 'utf8'))
  expect(position).toBeLessThan(5_000 + after)

  expect((await run(['backup', 'verify', backup], dataDir)).stdout).toContain(
    `${backup} is whole.\n`,
  )
  expect(namesIn(backup)).toEqual(['backup.json', 'customers.db', 'events.db'])
  const restored = nextFolder()
  expect(await run(['restore', backup], restored)).toMatchObject({ status: 0, stderr: '' })
  const again = await prepared.start({ dataDir: restored })
  const stored = new Set(await idsOf(again))
  expect(before.filter((id) => !stored.has(id))).toEqual([])
  // Pages send what they have not seen acknowledged; what is stored stays one event.
  const size = stored.size
  const late = acknowledged.at(-1) as string
  for (const id of [before[0] as string, before.at(-1) as string, late])
    expect((await post(again, id)).status).toBe(200)
  expect((await idsOf(again)).length).toBe(size + (stored.has(late) ? 0 : 1))
  await gateway.close()
})

test('a backup is readable by its owner only, and says what it has', async () => {
  const { dataDir, backup } = await backUp()
  expect((statSync(backup).mode & 0o777).toString(8)).toBe('700')
  for (const name of namesIn(backup))
    expect((statSync(join(backup, name)).mode & 0o777).toString(8)).toBe('600')
  const manifest = JSON.parse(readFileSync(join(backup, 'backup.json'), 'utf8'))
  expect(manifest).toMatchObject({ format: 1, position: 1 })
  for (const { name, bytes, sha256 } of manifest.files) {
    expect(statSync(join(backup, name)).size).toBe(bytes)
    expect(await hashFile(join(backup, name))).toBe(sha256)
  }
  // Also from a medium that can not be written.
  chmodSync(backup, 0o500)
  expect((await run(['backup', 'verify', backup], dataDir)).status).toBe(0)
  chmodSync(backup, 0o700)
})

test('a backup that can not be made says why', async () => {
  const { dataDir, backup } = await backUp()
  for (const [args, folder, message] of [
    [[backup], dataDir, `${backup} is not empty. Choose a new folder for each backup`],
    [['/nowhere/at/all'], dataDir, '/nowhere/at is missing. Create it, or mount its disk'],
    [[nextFolder()], nextFolder(), 'There are no databases in'],
  ] as const) {
    const refused = await run(['backup', ...args], folder)
    expect([refused.status, refused.stdout]).toEqual([1, ''])
    expect(refused.stderr).toContain(message)
  }
  expect((await run(['backup'], dataDir)).stderr).toContain('Expected a new folder: backup DIR')
  expect((await run(['backup', 'verify'], dataDir)).stderr).toContain(
    'Expected a backup: backup verify DIR',
  )
  expect((await run(['backup', 'a', 'b'], dataDir)).stderr).toContain('backup takes no b.')
})

/** Changes a backup. With `isSigned`, its manifest says so too. */
type Damage = [what: string, change: (backup: string) => void | Promise<void>, message: string]
const sign = async (backup: string) => {
  const file = join(backup, 'backup.json')
  const manifest = JSON.parse(readFileSync(file, 'utf8'))
  for (const entry of manifest.files) {
    entry.bytes = statSync(join(backup, entry.name)).size
    entry.sha256 = await hashFile(join(backup, entry.name))
  }
  writeFileSync(file, JSON.stringify(manifest))
}
const change = (backup: string, name: string, sql: string) => {
  const database = new Database(join(backup, name))
  database.exec(sql)
  database.close()
}
const DAMAGES: Damage[] = [
  [
    'no manifest',
    (b) => rmSync(join(b, 'backup.json')),
    'is not a backup, or one that was broken off',
  ],
  ['half a manifest', (b) => writeFileSync(join(b, 'backup.json'), '{'), 'it is not JSON'],
  [
    'a manifest of a newer form',
    (b) => writeFileSync(join(b, 'backup.json'), '{"format":2}'),
    'format: It was made by a newer version of shoptrail',
  ],
  [
    'a path in the manifest',
    (b) => {
      const file = join(b, 'backup.json')
      writeFileSync(file, readFileSync(file, 'utf8').replace('"events.db"', '"../events.db"'))
    },
    'files.',
  ],
  ['a missing file', (b) => rmSync(join(b, 'customers.db')), 'customers.db is missing'],
  [
    'a changed byte',
    (b) => {
      const file = join(b, 'events.db')
      const bytes = readFileSync(file)
      bytes[bytes.length - 1] = (bytes.at(-1) as number) ^ 1
      writeFileSync(file, bytes)
    },
    'events.db is not the file that was backed up',
  ],
  [
    'a -wal of another program',
    (b) => writeFileSync(join(b, 'events.db-wal'), 'x'),
    'events.db-wal was made by another program',
  ],
  [
    'a damaged database whose hash is right',
    async (b) => {
      const file = join(b, 'events.db')
      const bytes = readFileSync(file)
      bytes.fill(0xff, 8_192, 12_000)
      writeFileSync(file, bytes)
      await sign(b)
    },
    'events.db is not a database of shoptrail, or is damaged',
  ],
  [
    'a database of another application',
    async (b) => {
      rmSync(join(b, 'events.db'))
      change(b, 'events.db', 'CREATE TABLE x (y)')
      await sign(b)
    },
    'events.db is a database of another application',
  ],
  [
    'databases that do not belong together',
    async (b) => {
      change(b, 'events.db', "UPDATE identity SET id = 'another'")
      await sign(b)
    },
    'customers.db and events.db do not belong together',
  ],
  [
    'a newer schema',
    async (b) => {
      change(b, 'events.db', "INSERT INTO schema_versions VALUES (9, '9.9.9', 1)")
      await sign(b)
    },
    'events.db was written by shoptrail 9.9.9',
  ],
]

test('a damaged backup is neither whole nor restored, and the folder stays as it is', async () => {
  const { dataDir, backup } = await backUp()
  for (const [what, damage, message] of DAMAGES) {
    const copy = nextFolder('damaged')
    cpSync(backup, copy, { recursive: true })
    await damage(copy)
    const files = namesIn(dataDir)
    for (const args of [
      ['backup', 'verify', copy],
      ['restore', copy, '--yes'],
    ]) {
      const refused = await run(args, dataDir)
      expect([what, refused.status, refused.stdout]).toEqual([what, 1, ''])
      expect(refused.stderr).toContain(message)
    }
    expect(namesIn(dataDir)).toEqual(files)
  }
})

test('a restore is refused while a gateway has the folder open, and needs a confirmation', async () => {
  const { dataDir, backup } = await backUp()
  const gateway = await prepared.start({ dataDir })
  const asked = await run(['restore', backup], dataDir)
  expect(asked.status).toBe(1)
  expect(asked.stderr).toMatch(
    / has events\.db, customers\.db\. The backup takes their place, .+ --yes\n$/,
  )
  const refused = runProcess(prepared.folder, ['restore', backup, '--yes'], { DATA_DIR: dataDir })
  expect([refused.status, refused.stdout]).toEqual([1, ''])
  expect(refused.stderr).toMatch(
    /(events|customers)\.db is in use by another process\. Stop the gateway\n$/,
  )
  expect((await post(gateway, randomUUID())).status).toBe(200)
  expect(await idsOf(gateway)).toHaveLength(2)
  await gateway.close()
})

test('what was there is kept aside, with reports that followed it; the salt stays', async () => {
  const { dataDir, backup, id } = await backUp()
  const gateway = await prepared.start({ dataDir })
  await post(gateway, randomUUID())
  await gateway.close()
  for (const name of ['reports.db', 'forward.db', 'salt.db'])
    writeFileSync(join(dataDir, name), name)
  // The rest of a restore that was killed.
  mkdirSync(join(dataDir, 'restoring'))
  writeFileSync(join(dataDir, 'restoring/events.db'), 'half a copy')
  const restored = await run(['restore', backup, '--yes'], dataDir)
  expect(restored.status).toBe(0)
  const [, aside] = /What was there is in (.+)\. Remove it/.exec(restored.stdout) ?? []
  expect(namesIn(aside as string)).toEqual([
    'customers.db',
    'events.db',
    'forward.db',
    'reports.db',
  ])
  expect(namesIn(dataDir)).toEqual([
    basename(aside as string),
    'customers.db',
    'events.db',
    'salt.db',
  ])
  rmSync(join(dataDir, 'salt.db'))
  const again = await prepared.start({ dataDir })
  expect(await idsOf(again)).toEqual([id])
  await again.close()
  // It can be restored by hand.
  const old = nextFolder()
  mkdirSync(old)
  for (const name of ['customers.db', 'events.db'])
    copyFileSync(join(aside as string, name), join(old, name))
  expect(await idsOf(await prepared.start({ dataDir: old }))).toHaveLength(2)
})

test('a damaged database does not keep its backup out', async () => {
  const { dataDir, backup, id } = await backUp()
  writeFileSync(join(dataDir, 'events.db'), 'not a database, but longer than one byte')
  expect(await run(['restore', backup, '--yes'], dataDir)).toMatchObject({ status: 0 })
  expect(await idsOf(await prepared.start({ dataDir }))).toEqual([id])
})

// Restores that are killed: sqlite/backup/kills.long.test.ts.
test('a restore is finished from each of its steps', async () => {
  const { dataDir, backup, id } = await backUp()
  /** The moves of a restore, in order. */
  const moves = ['reports.db', 'events.db', 'customers.db'].flatMap((name) => [
    [name, `before-restore-X/${name}`],
    ...(name === 'reports.db' ? [] : [[`restored-X/${name}`, name]]),
  ]) as [string, string][]
  for (let done = 0; done <= moves.length; done++) {
    const folder = nextFolder()
    cpSync(dataDir, folder, { recursive: true })
    writeFileSync(join(folder, 'reports.db'), 'reports of before')
    change(folder, 'events.db', "DELETE FROM events; UPDATE identity SET id = 'old'")
    cpSync(backup, join(folder, 'restored-X'), { recursive: true })
    mkdirSync(join(folder, 'before-restore-X'))
    for (const [from, to] of moves.slice(0, done)) renameSync(join(folder, from), join(folder, to))
    const gateway = await prepared.start({ dataDir: folder })
    expect([done, await idsOf(gateway)]).toEqual([done, [id]])
    await gateway.close()
    expect(namesIn(join(folder, 'before-restore-X'))).toEqual([
      'customers.db',
      'events.db',
      'reports.db',
    ])
  }
})
