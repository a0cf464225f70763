import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync, rmSync, statSync, watch } from 'node:fs'
import { join, relative } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeEarlierData } from '../test/earlierData.ts'
import { layOutGateway } from '../test/gateway.ts'
import { completePayloads } from '../test/payloads.ts'

/** Everything that is ever in the data folder is readable by its owner only, whatever the umask is. */
let folder: string
const SOON = { timeout: 30_000 }

beforeAll(() => {
  folder = layOutGateway()
})
afterAll(() => rmSync(folder, { recursive: true }))

/** `sh` sets the umask of the process only. */
const WITHOUT_UMASK = ['-c', 'umask 0; exec "$@"', 'sh', process.execPath]

/** Runs a command. This process watches the folder meanwhile. */
async function run(dataDir: string, ...args: string[]): Promise<void> {
  const child = spawn('sh', [...WITHOUT_UMASK, join(folder, 'dist/shoptrail.js'), ...args], {
    env: { DATA_DIR: dataDir, PUBLIC_URL: 'https://t.shop.example' },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let stderr = ''
  child.stderr.on('data', (chunk) => {
    stderr += chunk
  })
  const status = await new Promise((resolve) => child.once('close', resolve))
  expect([args.join(' '), status, stderr]).toEqual([args.join(' '), 0, ''])
}

/** Whether group or others have a right. Undefined if the path is gone. */
function openTo(path: string): string | undefined {
  const stats = statSync(path, { throwIfNoEntry: false })
  return stats && (stats.mode & 0o077) !== 0 ? (stats.mode & 0o777).toString(8) : undefined
}

/** Every path in a folder. */
const pathsIn = (root: string): string[] => [
  root,
  ...readdirSync(root, { recursive: true }).map((name) => join(root, String(name))),
]

test('no file or folder of the data is open to others, while it is made and after', async () => {
  const dataDir = join(folder, 'data')
  const backup = join(folder, 'backup')
  // Made before the watch begins, so that it sees everything in it.
  mkdirSync(dataDir, { mode: 0o700 })
  const seen = new Set<string>()
  const open: string[] = []
  const look = (root: string, path: string) => {
    const mode = openTo(path)
    seen.add(relative(root, path).replace(/\d{4}-[\w.-]+/, 'TIME'))
    if (mode) open.push(`${mode} ${path}`)
  }
  // Node's recursive watch may miss what is renamed at once, the other one sees only the folder itself.
  const watchers = [true, false].map((recursive) =>
    watch(dataDir, { recursive }, (_, name) => {
      if (name) look(dataDir, join(dataDir, name))
    }),
  )
  try {
    makeEarlierData(dataDir, '0.1.0')
    // The old files had the umask of their time; the watch is about what is made from here on.
    await run(dataDir, 'data', 'upgrade')
    open.length = 0
    const config = '{"consent":"cookieless"}'
    const all = ['--cookieless', 'on', '--bots', 'on']
    await Promise.all([
      run(dataDir, 'customer', 'set', 'shop', '--config', config),
      run(dataDir, 'forward', 'add', 'shop', '--kind', 'file', ...all),
    ])
    const gateway = spawn('sh', [...WITHOUT_UMASK, join(folder, 'dist/shoptrail.js'), 'start'], {
      env: { PORT: '0', DATA_DIR: dataDir },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const ended = new Promise((resolve) => gateway.once('exit', resolve))
    try {
      const url = await new Promise<string>((resolve) => {
        let output = ''
        gateway.stdout.on('data', (chunk) => {
          output += chunk
          const found = /"url":"([^"]+)"/.exec(output)?.[1]
          if (found) resolve(found)
        })
      })
      const post = (path: string, body: object) =>
        fetch(url + path, {
          method: 'POST',
          headers: { origin: 'https://shop.example', 'content-type': 'text/plain' },
          body: JSON.stringify(body),
        })
      const key = 'k=REST-KEY-OF-THE-SHOP&u=shop'
      expect((await post(`/api/v1/campaigns/create?${key}`, completePayloads.create)).status).toBe(
        200,
      )
      const { did: _, ...event } = completePayloads.search
      expect((await post('/t/r?k=SHOPKEY1', event)).status).toBe(200)
      const wanted = ['reports.db', 'salt.db', 'forward.db', 'events.db-wal', 'customers.db-wal']
      await expect.poll(() => wanted.filter((name) => !seen.has(name)), SOON).toEqual([])
      await expect
        .poll(() => pathsIn(join(dataDir, 'forward')).some((path) => statSync(path).isFile()), SOON)
        .toBe(true)
      await run(dataDir, 'backup', backup)
      await run(dataDir, 'person', 'erase', '--customer', 'shop', '--did', 'd-1', '--yes')
      for (const path of [...pathsIn(dataDir), ...pathsIn(backup)]) look(dataDir, path)
    } finally {
      gateway.kill('SIGTERM')
      await ended
    }
    await run(dataDir, 'restore', backup, '--yes')
    for (const path of pathsIn(dataDir)) look(dataDir, path)
    const made = ['upgrades', 'upgrade.lock', 'restore.lock', 'restoring', 'before-restore-TIME']
    await expect.poll(() => made.filter((name) => !seen.has(name)), SOON).toEqual([])
  } finally {
    for (const watcher of watchers) watcher.close()
  }
  expect(open).toEqual([])
})
