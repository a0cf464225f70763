import { spawn, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildImage, enter, type Image } from '../test/dockerfile.ts'
import { findPort } from '../test/findPort.ts'
import { send } from '../test/gateway.ts'

/*
 * docs/deploy/Dockerfile, built and run in a plain Debian where no engine is. The base images are made of Debian's
 * packages and the Node of this machine. Needs root and mmdebstrap, and takes some minutes.
 */

const root = fileURLToPath(new URL('../..', import.meta.url))
/** Largest size of what the Dockerfile adds to its base, bytes. */
const MAX_BYTES = 12 * 2 ** 20

const folder = mkdtempSync(join(tmpdir(), 'image-'))
let image: Image

beforeAll(() => {
  chmodSync(folder, 0o755)
  image = buildImage({
    file: join(root, 'docs/deploy/Dockerfile'),
    context: root,
    makeBase,
    buildEnv: findProxySettings(),
  })
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** How this machine reaches the registry, for `npm ci` of the build. */
const findProxySettings = (): Record<string, string> =>
  Object.fromEntries(
    Object.entries(process.env).filter(
      (entry): entry is [string, string] =>
        /^(NODE_EXTRA_CA_CERTS|npm_config_registry|https?_proxy|no_proxy)$/i.test(entry[0]) &&
        entry[1] !== undefined,
    ),
  )

/** `node:22-bookworm` with compilers, or `node:22-bookworm-slim`: Debian with Node in /usr/local, and its user. */
function makeBase(name: string): string {
  const [, slim] = /^node:\d+-bookworm(-slim)?$/.exec(name) ?? [name, undefined]
  const base = join(folder, name.replaceAll(':', '-'))
  const packages = slim ? 'libstdc++6' : 'python3,make,g++,ca-certificates'
  const made = spawnSync(
    'mmdebstrap',
    ['--variant=minbase', `--include=${packages}`, 'bookworm', base],
    { encoding: 'utf8' },
  )
  if (made.error) throw new Error('mmdebstrap is not installed: apt-get install mmdebstrap')
  if (made.status !== 0) throw new Error(made.stderr)
  spawnSync('chroot', [base, 'useradd', '--create-home', '--uid', '1000', 'node'])
  const local = join(base, 'usr/local')
  copyFileSync(process.execPath, join(local, 'bin/node'))
  if (slim) return base
  // npm and the headers, and how this machine reaches the registry.
  const installed = join(dirname(realpathSync(process.execPath)), '..')
  cpSync(join(installed, 'include/node'), join(local, 'include/node'), { recursive: true })
  cpSync(join(installed, 'lib/node_modules/npm'), join(local, 'lib/node_modules/npm'), {
    recursive: true,
  })
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(local, 'bin/npm'))
  mkdirSync(join(local, 'etc'), { recursive: true })
  for (const [from, to] of [
    [join(installed, 'etc/npmrc'), join(local, 'etc/npmrc')],
    ...['/etc/resolv.conf', '/etc/hosts', process.env.NODE_EXTRA_CA_CERTS ?? ''].map((file) => [
      file,
      join(base, file),
    ]),
    ['/etc/ssl/certs/ca-certificates.crt', join(base, 'etc/ssl/certs/ca-certificates.crt')],
  ] as const)
    if (from && to && existsSync(from)) {
      mkdirSync(dirname(to), { recursive: true })
      copyFileSync(from, to)
    }
  return base
}

const sizeOf = (path: string): number =>
  readdirSync(path, { recursive: true, encoding: 'utf8' })
    .map((file) => statSync(join(path, file)))
    .reduce((sum, stats) => sum + (stats.isFile() ? stats.size : 0), 0)

test('the image has the gateway and better-sqlite3, and nothing else', () => {
  const app = join(image.root, 'app')
  expect(readdirSync(app).sort()).toEqual(['LICENSE', 'dist', 'node_modules', 'package.json'])
  expect(readdirSync(join(app, 'node_modules')).sort()).toEqual([
    'better-sqlite3',
    'bindings',
    'file-uri-to-path',
  ])
  expect(existsSync(join(image.root, 'src'))).toBe(false)
  expect(sizeOf(app)).toBeLessThan(MAX_BYTES)
})

test('its gateway runs without root, takes an event, is healthy, and ends by the signal', async () => {
  const port = `${await findPort()}`
  // What `docker run -e` would set. A container has a network of its own.
  const env = { ...image.env, PORT: port, HOST: '127.0.0.1', DRAIN_MS: '0' }
  const container = { ...image, env }
  const run = (command: readonly string[]) =>
    spawnSync('unshare', enter(container, command), { encoding: 'utf8' })
  expect(image.user).not.toBe('root')

  const gateway = spawn('unshare', enter(container, image.command))
  let output = ''
  const listening = new Promise<void>((resolve, reject) => {
    for (const stream of [gateway.stdout, gateway.stderr])
      stream.on('data', (chunk) => {
        output += chunk
        if (output.includes('"Listening"')) resolve()
      })
    gateway.once('exit', () => reject(new Error(output)))
  })
  await listening
  expect(readFileSync(`/proc/${gateway.pid}/status`, 'utf8')).toMatch(/^Uid:\t1000\t1000\t/m)
  // It has no customers yet.
  expect(run(image.healthcheck).status).toBe(1)
  const added = run(['shoptrail', 'customer', 'add', '--origin', 'https://shop.example'])
  expect([added.status, added.stderr]).toEqual([0, ''])
  const key = /\/t\/j\/(\w+)"/.exec(added.stdout)?.[1]
  const url = `http://127.0.0.1:${port}`
  const sent = await send(url, `/t/r?k=${key}&id=${randomUUID()}`, {
    method: 'POST',
    headers: { origin: 'https://shop.example' },
    body: JSON.stringify({
      event: 'search',
      search_term: 'mug',
      did: 'd-1',
      url: 'https://shop.example/',
      http_user_agent: 'UA/1',
      remote_addr: '0.0.0.0',
    }),
  })
  expect(sent.status).toBe(200)
  expect((await send(url, `/t/j/${key}`)).status).toBe(200)
  expect((await send(url, '/live/')).status).toBe(200)
  expect(run(image.healthcheck).status).toBe(0)
  // Nothing but the volume can be written.
  expect(run(['sh', '-c', 'touch /app/x /usr/local/bin/x']).status).not.toBe(0)
  expect(readdirSync(join(image.root, 'data'))).toContain('events.db')

  const ended = once(gateway, 'exit')
  gateway.kill(image.stopSignal)
  expect(await ended).toEqual([0, null])
  expect(run(image.healthcheck).status).toBe(1)
})
