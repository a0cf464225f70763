import { spawn } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runCommand } from '../../test/command.ts'
import { forgetVersions } from '../../test/earlierData.ts'
import { layOutGateway, prepareGateway, recordsOf, send } from '../../test/gateway.ts'
import type { Gateway } from '../index.ts'
import { createSqliteCustomers } from './customers.ts'
import { openDatabase } from './database.ts'
import { openPair } from './databasePair.ts'
import { openStore } from './store.ts'

let prepared: Awaited<ReturnType<typeof prepareGateway>>
let folder: string
let folders = 0

beforeAll(async () => {
  prepared = await prepareGateway()
  folder = layOutGateway()
})
afterAll(async () => {
  await prepared.end()
  rmSync(folder, { recursive: true })
})

/** Long enough for a machine whose cores are all busy. */
const SOON = { timeout: 20_000 }
const ORIGIN = 'https://shop.example'

const run = (args: readonly string[], DATA_DIR: string) => runCommand(args, { DATA_DIR })
const nextFolder = () => join(prepared.folder, `data-${++folders}`)

const post = ({ url }: Gateway) =>
  send(url, '/t/r?k=SHOPKEY1', {
    method: 'POST',
    headers: { origin: ORIGIN },
    body: JSON.stringify({
      did: 'd-1',
      event: 'view_homepage',
      url: `${ORIGIN}/`,
      http_user_agent: 'UA/1',
    }),
  })
const readiness = async ({ url }: Gateway) => {
  const { status, text } = await send(url, '/readyz')
  return { status, message: JSON.parse(text).message as string }
}

/** A folder that a gateway has used: one customer, one event. */
async function useFolder(dataDir = nextFolder()): Promise<string> {
  const gateway = await prepared.start({ dataDir })
  gateway.customers.add({ customerId: 'shop', trackingKey: 'SHOPKEY1', origins: [ORIGIN] })
  expect((await post(gateway)).status).toBe(200)
  await gateway.close()
  return dataDir
}
const drop = (dataDir: string, name: string) => {
  for (const file of readdirSync(dataDir)) if (file.startsWith(name)) rmSync(join(dataDir, file))
}
const copy = (from: string, to: string, name: string) => cpSync(join(from, name), join(to, name))

test('an unchanged folder is opened, and so is a copy of it elsewhere', async () => {
  const dataDir = await useFolder()
  const moved = nextFolder()
  renameSync(dataDir, moved)
  const gateway = await prepared.start({ dataDir: moved })
  expect(gateway.isOpen()).toBe(true)
  expect((await post(gateway)).status).toBe(200)
  expect(await recordsOf(gateway)).toHaveLength(2)
})

const MISSING_EVENTS = /^events\.db is missing, but was there at the last start\. .+ data accept$/
const MISSING_CUSTOMERS = /^customers\.db is missing, but events\.db is there\. .+ data accept$/
const OTHERS = /^customers\.db and events\.db do not belong together: .+ data accept$/

const changes: [string, (dataDir: string, other: string) => void, RegExp][] = [
  ['events.db is missing', (dataDir) => drop(dataDir, 'events.db'), MISSING_EVENTS],
  [
    'events.db is empty',
    (dataDir) => {
      drop(dataDir, 'events.db')
      writeFileSync(join(dataDir, 'events.db'), '')
    },
    MISSING_EVENTS,
  ],
  ['customers.db is missing', (dataDir) => drop(dataDir, 'customers.db'), MISSING_CUSTOMERS],
  [
    'customers.db is empty',
    (dataDir) => {
      drop(dataDir, 'customers.db')
      writeFileSync(join(dataDir, 'customers.db'), '')
    },
    MISSING_CUSTOMERS,
  ],
  ['events.db is another folder’s', (dataDir, other) => copy(other, dataDir, 'events.db'), OTHERS],
  [
    'customers.db is another folder’s',
    (dataDir, other) => copy(other, dataDir, 'customers.db'),
    OTHERS,
  ],
  [
    'events.db is one that no gateway has used',
    (dataDir) => {
      drop(dataDir, 'events.db')
      openStore(join(dataDir, 'events.db')).close()
    },
    OTHERS,
  ],
  [
    'customers.db is one that no gateway has used',
    (dataDir) => {
      drop(dataDir, 'customers.db')
      createSqliteCustomers(join(dataDir, 'customers.db')).close()
    },
    OTHERS,
  ],
]

test.each(changes)('%s: 503 and the reason, until it is put back', async (_, change, message) => {
  const dataDir = await useFolder()
  const kept = nextFolder()
  cpSync(dataDir, kept, { recursive: true })
  change(dataDir, await useFolder())
  const before = readdirSync(dataDir).sort()

  const reasons: (string | undefined)[] = []
  const gateway = await prepared.start({ dataDir, onReadiness: (reason) => reasons.push(reason) })
  expect(gateway.isOpen()).toBe(false)
  expect(() => gateway.customers).toThrow(message)
  const ready = await readiness(gateway)
  expect(ready.status).toBe(503)
  expect(ready.message).toMatch(message)
  expect((await send(gateway.url, '/livez')).status).toBe(200)
  const ask = (target: string, body?: string) =>
    send(gateway.url, target, body === undefined ? {} : { method: 'POST', body })
  const answers = [
    await post(gateway),
    await ask('/t/batch?k=SHOPKEY1', '{}'),
    await ask('/t/j/SHOPKEY1'),
    await ask('/api/v1/campaigns/list?k=x&u=shop', '{}'),
    await ask('/api/v1/get-latest-campaign?k=x&u=shop'),
    await ask('/live/customers'),
  ]
  for (const { status, headers, text } of answers) {
    expect(status).toBe(503)
    expect(headers['retry-after']).toBe('30')
    expect(text).toContain('shoptrail data accept')
    expect(text).not.toContain(dataDir)
  }
  expect(answers[0]?.headers['access-control-allow-origin']).toBe('*')
  expect(answers[2]?.headers['content-type']).toContain('text/javascript')
  expect(answers[2]?.text).toMatch(/^\/\* [^*]+ \*\/\n$/)
  // A missing file is not created.
  expect(readdirSync(dataDir).sort()).toEqual(before)

  for (const file of readdirSync(dataDir)) rmSync(join(dataDir, file))
  cpSync(kept, dataDir, { recursive: true })
  await expect.poll(() => gateway.isOpen(), SOON).toBe(true)
  expect((await readiness(gateway)).status).toBe(200)
  expect((await post(gateway)).status).toBe(200)
  expect(await recordsOf(gateway)).toHaveLength(2)
  await expect.poll(() => reasons.at(-1), SOON).toBeUndefined()
  expect(reasons[0]).toMatch(message)
})

test.each(changes)(
  '%s: the command line changes nothing, until it is accepted',
  async (_, change, message) => {
    const dataDir = await useFolder()
    change(dataDir, await useFolder())
    const before = readdirSync(dataDir).sort()
    for (const args of [
      ['add', '--origin', 'loopback', '--id', 'next'],
      ['list'],
      ['set', 'shop', '--name', 'x'],
      ['remove', 'shop', '--yes'],
    ]) {
      const { status, stderr } = run(['customer', ...args], dataDir)
      expect(status).toBe(1)
      expect(stderr.startsWith(`${dataDir}: `)).toBe(true)
      expect(stderr.slice(dataDir.length + 2).trim()).toMatch(message)
    }
    expect(readdirSync(dataDir).sort()).toEqual(before)

    const gateway = await prepared.start({ dataDir })
    expect(gateway.isOpen()).toBe(false)
    const accepted = run(['data', 'accept'], dataDir)
    expect(accepted.status).toBe(0)
    expect(accepted.stdout).toContain(`In ${dataDir}: `)
    expect(accepted.stdout).not.toContain('data accept')
    await expect.poll(() => gateway.isOpen(), SOON).toBe(true)
    expect(run(['customer', 'add', '--origin', 'loopback', '--id', 'next'], dataDir).status).toBe(0)
    expect((await readiness(gateway)).status).toBe(200)
    await gateway.close()
    const again = await prepared.start({ dataDir })
    expect(again.isOpen()).toBe(true)
    expect(run(['data', 'accept'], dataDir).stdout).toContain('nothing to accept')
  },
)

test('a folder of an earlier version gets its identities, and has them from then on', async () => {
  const dataDir = await useFolder()
  for (const name of ['events.db', 'customers.db']) {
    const database = openDatabase(join(dataDir, name))
    database.exec('DROP TABLE identity')
    database.close()
    forgetVersions(join(dataDir, name))
  }
  const gateway = await prepared.start({ dataDir })
  expect((await post(gateway)).status).toBe(200)
  await gateway.close()
  drop(dataDir, 'events.db')
  const after = await prepared.start({ dataDir })
  expect((await readiness(after)).message).toMatch(MISSING_EVENTS)
})

test('a backup from before the first start still belongs to its events', async () => {
  const dataDir = nextFolder()
  const add = ['customer', 'add', '--origin', ORIGIN, '--id', 'shop', '--tracking-key', 'SHOPKEY1']
  const added = run(add, dataDir)
  expect(added.status).toBe(0)
  expect(added.stdout).toContain(`The customer is stored in ${dataDir}.`)
  expect(readdirSync(dataDir)).toEqual(['customers.db'])
  const backup = nextFolder()
  cpSync(dataDir, backup, { recursive: true })
  const gateway = await prepared.start({ dataDir })
  expect((await post(gateway)).status).toBe(200)
  await gateway.close()
  copy(backup, dataDir, 'customers.db')
  const again = await prepared.start({ dataDir })
  expect((await post(again)).status).toBe(200)
  expect(await recordsOf(again)).toHaveLength(2)
})

test('an empty folder stays empty until a customer is added, which a running gateway sees', async () => {
  const dataDir = nextFolder()
  for (const args of [
    ['set', 'shop', '--name', 'x'],
    ['rotate', 'shop', '--key', 'rest'],
    ['remove', 'shop', '--yes'],
  ])
    expect(run(['customer', ...args], dataDir)).toMatchObject({
      status: 1,
      stderr: `There is no customer shop in ${dataDir}\n`,
    })
  const listed = run(['customer', 'list'], dataDir)
  expect(listed).toMatchObject({ status: 0 })
  expect(listed.stdout).toContain(`There are no customers in ${dataDir} yet`)
  expect(run(['data', 'accept'], dataDir).status).toBe(0)
  expect(existsSync(dataDir) ? readdirSync(dataDir) : []).toEqual([])

  const gateway = await prepared.start({ dataDir })
  expect((await post(gateway)).status).toBe(503)
  run(['customer', 'add', '--origin', ORIGIN, '--tracking-key', 'SHOPKEY1'], dataDir)
  expect((await readiness(gateway)).status).toBe(200)
  expect((await post(gateway)).status).toBe(200)
})

test('two gateways that start over a new folder at the same time use the same databases', async () => {
  const dataDir = nextFolder()
  mkdirSync(dataDir)
  const both = await Promise.all([prepared.start({ dataDir }), prepared.start({ dataDir })])
  both[0].customers.add({ trackingKey: 'SHOPKEY1', origins: [ORIGIN] })
  for (const gateway of both) expect((await post(gateway)).status).toBe(200)
  for (const gateway of both) expect(await recordsOf(gateway)).toHaveLength(2)
  await both[0].close()
  expect((await post(both[1])).status).toBe(200)
})

test('a waiting process logs the reason, continues after the remedy, and ends cleanly before and after', async () => {
  const dataDir = await useFolder()
  drop(dataDir, 'events.db')
  const command = join(folder, 'dist/shoptrail.js')
  const start = () => {
    const child = spawn(process.execPath, [command, 'start'], {
      env: { PORT: '0', DRAIN_MS: '0', DATA_DIR: dataDir, LOG_LEVEL: 'info' },
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk) => {
        output += chunk
      })
    const end = () =>
      new Promise((resolve) => {
        child.once('close', resolve)
        child.kill('SIGTERM')
      })
    return { output: () => output, end }
  }
  const before = start()
  await expect.poll(before.output, SOON).toContain(`waits for its data in ${dataDir}: events.db is`)
  expect(await before.end()).toBe(0)
  const own = start()
  await expect.poll(own.output, SOON).toContain('"msg":"Not ready"')
  run(['data', 'accept'], dataDir)
  await expect.poll(own.output, SOON).toContain('"msg":"Ready"')
  expect(own.output()).toContain('"msg":"Listening"')
  expect(await own.end()).toBe(0)
})

test('a waiting gateway that finds a damaged file continues to wait, and only its log has the reason', async () => {
  const dataDir = await useFolder()
  const file = join(dataDir, 'events.db')
  renameSync(file, `${file}.kept`)
  const errors: string[] = []
  const gateway = await prepared.start({
    dataDir,
    onError: (error) => errors.push((error as Error).message),
  })
  writeFileSync(file, 'garbage '.repeat(1_000))
  await expect.poll(() => errors, SOON).toHaveLength(1)
  expect(errors[0]).toContain(`${file} is not a database of shoptrail, or is damaged`)
  const { message } = await readiness(gateway)
  expect(message).toBe('The data can not be opened. The log of the gateway has the reason')
  renameSync(`${file}.kept`, file)
  await expect.poll(() => gateway.isOpen(), SOON).toBe(true)
  expect((await post(gateway)).status).toBe(200)
  expect(errors).toHaveLength(1)
})

test('a gateway that waits can be closed, and releases everything', async () => {
  const dataDir = await useFolder()
  drop(dataDir, 'events.db')
  const gateway = await prepared.start({ dataDir })
  await gateway.close()
  await gateway.close()
  expect(existsSync(join(dataDir, 'events.db'))).toBe(false)
  await expect(send(gateway.url, '/livez')).rejects.toThrow()
})

test('a pair that is open keeps the files between two connections', async () => {
  const dataDir = await useFolder()
  const wal = join(dataDir, 'events.db-wal')
  const close = openPair(dataDir)
  openStore(join(dataDir, 'events.db')).close()
  expect(existsSync(wal)).toBe(true)
  close()
  expect(existsSync(wal)).toBe(false)
})
