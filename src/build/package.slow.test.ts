import { spawn } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync } from 'node:zlib'
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
import { build } from 'esbuild'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { json, type Respond, startApi } from '../test/api.ts'
import { findNode } from '../test/fetchPackage.ts'
import { type Installed, installPackage, run } from '../test/installPackage.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const BIN = join('node_modules', 'shoptrail', 'dist', 'shoptrail.js')

/** A project with the package alone, and one with better-sqlite3 beside it, as a gateway needs it. */
let client: Installed
let gateway: Installed

beforeAll(() => {
  client = installPackage()
  gateway = installPackage()
  linkModule('better-sqlite3', gateway.folder)
}, 120_000)
afterAll(() => {
  client?.remove()
  gateway?.remove()
})

/** The repository's copy, since compiling another takes a minute. */
function linkModule(name: string, folder: string): void {
  symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name), 'junction')
}

type Ended = { readonly code: number | null; readonly stdout: string; readonly stderr: string }

/** Runs a Node in the project until it ends. */
function runNode(
  node: string,
  args: readonly string[],
  folder = client.folder,
  env: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  const child = spawn(node, args, { cwd: folder, env: { ...process.env, ...env } })
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (chunk) => {
    stdout += chunk
  })
  child.stderr.on('data', (chunk) => {
    stderr += chunk
  })
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, stdout, stderr })))
}

/** Runs a script in the project. Resolves with its output and its exit code. */
async function runScript(node: string, name: string, script: string): Promise<string> {
  writeFileSync(join(client.folder, name), script)
  const { code, stdout, stderr } = await runNode(node, [name])
  return `${stdout.trim()}${stderr} (${code})`
}

test('the package contains the build, the pages and the documentation, and nothing else', () => {
  const known =
    /^(package\.json|README\.md|LICENSE|CHANGELOG\.md|docs\/([\w-]+\/)?[\w-]+\.md|docs\/\w+\.png|docs\/(deploy|scale)\/[\w@.-]+|dist\/[\w-]+\.js|dist\/(client|contract|index)\.cjs|dist\/licenses\.txt|dist\/declarations\/(client|contract|tracker)\/([\w-]+\/)?\w+\.d\.c?ts|dist\/track\/[\w-]+\.js|dist\/public\/[\w/-]+\.(html|css|js|svg))$/
  const { files } = client
  expect(
    files.filter((file) => !known.test(file) || /\.test\.|fixtures|gateway\.js/.test(file)),
  ).toEqual([])
  for (const file of [
    'client.cjs',
    'shoptrail.js',
    'track/core.js',
    'sqlite-worker.js',
    'public/live/live.js',
    'public/campaigns/campaigns.css',
    'public/shop/plain/index.html',
    'public/shop/img/mug.svg',
  ])
    expect(files).toContain(`dist/${file}`)
})

test('its documentation links nothing that the package lacks', () => {
  const texts = client.files.filter((file) => file.endsWith('.md'))
  const missing = texts.flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(/\]\(([\w./:-]+)[)#]/g)]
      .map(([, link = '']) => link)
      .filter((link) => !/^\w+:/.test(link))
      .map((link) => join(dirname(file), link))
      .filter((target) => !client.files.includes(target)),
  )
  expect(texts).toContain('README.md')
  expect(missing).toEqual([])
})

test('an installation adds no other package, and compiles nothing', () => {
  const modules = join(client.folder, 'node_modules')
  const installed = readdirSync(modules).filter((name) => !name.startsWith('.'))
  expect(installed).toEqual(['shoptrail'])
  const compiled = readdirSync(modules, { recursive: true, encoding: 'utf8' })
  expect(compiled.filter((path) => /\.node$|binding\.gyp$/.test(path))).toEqual([])
  const { dependencies, optionalDependencies, scripts } = readPackage()
  expect([dependencies, optionalDependencies]).toEqual([undefined, undefined])
  expect(Object.keys(scripts).filter((name) => /^(pre|post)?install$/.test(name))).toEqual([])
})

const readPackage = () =>
  JSON.parse(readFileSync(join(client.folder, 'node_modules/shoptrail/package.json'), 'utf8'))

test('no file of the package refers to a source map', () => {
  const dist = join(client.folder, 'node_modules/shoptrail/dist')
  const scripts = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter((path) =>
    /\.(c?js|d\.c?ts|css)$/.test(path),
  )
  expect(scripts.length).toBeGreaterThan(60)
  expect(
    scripts.filter((path) => readFileSync(join(dist, path), 'utf8').includes('sourceMappingURL=')),
  ).toEqual([])
})

test('publint finds no fault', async () => {
  const tarball = toArrayBuffer(readFileSync(client.tarball))
  const { messages } = await publint({ pack: { tarball }, strict: true })
  expect(messages.map((message) => formatMessage(message, readPackage()))).toEqual([])
})

test('arethetypeswrong finds no fault, in any resolution', async () => {
  const tarball = new Uint8Array(readFileSync(client.tarball))
  const result = await checkPackage(createPackageFromTarballData(tarball))
  if (!result.types) throw new Error('The package has no types')
  expect(Object.keys(result.entrypoints)).toEqual(Object.keys(readPackage().exports))
  expect(result.problems).toEqual([])
})

const toArrayBuffer = ({ buffer, byteOffset, byteLength }: Buffer): ArrayBuffer =>
  buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer

test('each entry is one file without imports, not minified', () => {
  for (const file of client.files.filter((path) => /^dist\/(client|contract|index)\./.test(path))) {
    const code = readFileSync(join(client.folder, 'node_modules/shoptrail', file), 'utf8')
    expect(code).not.toMatch(/^\s*import\s*["'{*\w]|\brequire\(|\bprocess\.|\bBuffer\b/m)
    // What the tracker loads from the gateway, a bundler must leave alone.
    for (const [, how] of code.matchAll(/\bimport\(([^)]*)\)/g))
      expect(how).toMatch(/@vite-ignore.*webpackIgnore: true.*`\$\{base\}\/t\/\w\.js`/s)
    expect(code.split('\n').length).toBeGreaterThan(400)
  }
})

/** For each part of the tracker, a text that only its code contains. */
const PARTS: Readonly<Record<string, string>> = {
  pageViews: 'pushState',
  attributes: 'data-track',
  dataLayer: 'dataLayerPrefix',
  ga4: 'begin_checkout',
  schemaOrg: 'application/ld+json',
  consent: 'globalPrivacyControl',
  consentSources: 'consentTypes',
  deviceCookie: ';domain=',
}
const partNames = Object.keys(PARTS)

/** The code of a page that imports these names from the installed package, bundled and minified. */
async function bundlePage(names: readonly string[]): Promise<string> {
  const { outputFiles } = await build({
    stdin: {
      contents: `import { ${names} } from 'shoptrail'\nconsole.log(${names})`,
      resolveDir: client.folder,
    },
    bundle: true,
    write: false,
    minify: true,
    format: 'esm',
    target: 'es2021',
  })
  return outputFiles[0]?.text ?? ''
}
const partsIn = (code: string) => partNames.filter((name) => code.includes(PARTS[name] as string))

test('a bundle contains the parts that it imports, and no others', async () => {
  const core = await bundlePage(['createTracker'])
  expect(partsIn(core)).toEqual([])
  const all = await bundlePage(['createTracker', ...partNames])
  expect(partsIn(all)).toEqual(partNames)
  // 6.5 and 12.9 kB. The script's budgets are in package.json; these only show that the parts are left out.
  expect(brotliCompressSync(core).length).toBeLessThan(7_000)
  expect(brotliCompressSync(all).length).toBeGreaterThan(11_000)
  for (const name of partNames)
    expect(partsIn(await bundlePage(['createTracker', name]))).toEqual([name])
  expect((await bundlePage(['pageViews'])).length).toBeLessThan(core.length / 4)
})

describe.each(['20', '22', '24'])('on Node %s', (major) => {
  let node: string
  beforeAll(() => {
    node = findNode(major)
    expect(run(node, ['-p', 'process.versions.node'], root)).toMatch(RegExp(`^${major}\\.`))
  }, 300_000)

  const BODY = `
    const client = createClient({ customerId: 'c', restKey: 'rest-key', baseUrl: URL_OF_API, retries: 0 })
    const list = await client.campaigns.list()
    const invalid = await client.campaigns.getEmailReport('').catch((error) => error)
    const { ok, payload } = validate('viewProduct', { did: 'd', event: EVENT_NAMES.viewProduct,
      url: 'https://s.example/', http_user_agent: 'a', remote_addr: '::1', product_id: 12 + '' })
    const tracker = createTracker({ key: 'SHOPKEY', base: URL_OF_API, parts: { pageViews } })
    const isSame = tracker === createTracker({ key: 'SHOPKEY', base: URL_OF_API })
    // There is no page, so nothing may be sent.
    const { error } = await tracker.viewHomepage()
    console.log(list.total, invalid instanceof ValidationException, invalid.name, ok, payload.event)
    console.log(isSame, error, 'track' in globalThis)`
  const scripts: readonly [name: string, script: string][] = [
    [
      'module.mjs',
      `import { createTracker, pageViews } from 'shoptrail'
       import { createClient, ValidationException } from 'shoptrail/client'
       import { EVENT_NAMES, validate } from 'shoptrail/contract'
       ${BODY}`,
    ],
    [
      'common.cjs',
      `const { createTracker, pageViews } = require('shoptrail')
       const { createClient, ValidationException } = require('shoptrail/client')
       const { EVENT_NAMES, validate } = require('shoptrail/contract')
       async function main() { ${BODY} }
       main()`,
    ],
  ]
  test.each(scripts)('%s uses the tracker, the client and the contract', async (name, script) => {
    const api = await startApi(json(200, { data: [], page: 1, limit: 20, total: 7 }))
    const output = await runScript(
      node,
      name,
      script.replaceAll('URL_OF_API', JSON.stringify(api.url)),
    )
    await api.close()
    expect(output).toBe('7 true ValidationException true view_product\ntrue ignored false (0)')
    expect(api.received).toHaveLength(1)
  })

  test('what needs no database works without better-sqlite3', async () => {
    const { version } = readPackage()
    expect(await runNode(node, [BIN, '--version'])).toEqual({
      code: 0,
      stdout: `${version}\n`,
      stderr: '',
    })
    const help = await runNode(node, [BIN, '--help'])
    expect(help).toMatchObject({ code: 0, stderr: '' })
    expect(help.stdout).toContain('shoptrail customer add')
    const snippet = await runNode(node, [
      ...[BIN, 'snippet', '--key', 'SHOPKEY'],
      ...['--gateway', 'https://gateway.example'],
    ])
    expect(snippet).toMatchObject({ code: 0, stderr: '' })
    expect(snippet.stdout).toContain('src="https://gateway.example/t/j/SHOPKEY"')
  })

  test('check reads a shop without better-sqlite3', async () => {
    const shop = await startShop()
    const check = await runNode(node, [BIN, 'check', shop.url])
    await shop.close()
    expect(check.stderr).toBe('')
    expect(check.stdout).toContain(shop.url)
    expect(check.stdout).toContain('The tag is not there.')
  })

  test.each([[['start']], [['customer', 'list']], [['snippet', '--key', 'SHOPKEY', '--list']]])(
    '%s says how to install better-sqlite3',
    async (args) => {
      const ended = await runNode(node, [BIN, ...args])
      expect(ended).toMatchObject({ code: 69, stdout: '' })
      expect(ended.stderr).toContain('needs the package better-sqlite3, which is not installed')
      expect(ended.stderr).toContain('npm install shoptrail better-sqlite3@12\n')
    },
  )

  test('the client sends an event to an installed gateway', async () => {
    const { url, keys } = await started()
    const output = await runScript(
      node,
      'send.mjs',
      `import { createClient } from 'shoptrail/client'
       const client = createClient(${JSON.stringify({ ...keys, baseUrl: url })})
       const { script, integrity } = await client.events.serveJavascript()
       const { id } = await client.events.viewProduct({ did: 'd${major}', url: 'https://shop.example/p',
         http_user_agent: 'Mozilla/5.0', remote_addr: '203.0.113.7', product_id: '${major}' })
       console.log(script.includes('${keys.trackingKey}'), integrity.slice(0, 7), typeof id)`,
    )
    expect(output).toBe('true sha384- string (0)')
    const person = await runNode(
      process.execPath,
      [BIN, 'person', 'export', '--customer', keys.customerId, '--did', `d${major}`],
      gateway.folder,
    )
    expect(JSON.parse(person.stdout)).toMatchObject({
      events: [{ payload: { product_id: major, remote_addr: '203.0.113.7' } }],
    })
  })
})

test('npx finds the command', () => {
  const { version } = readPackage()
  expect(run('npx', ['--no', '--', 'shoptrail', '--version'], client.folder).trim()).toBe(version)
})

type Keys = {
  readonly customerId: string
  readonly restKey: string
  readonly trackingKey: string
}
type Running = { readonly url: string; readonly keys: Keys }

let running: Promise<Running> | undefined
/** The gateway of the second project, with a customer. Started once. */
function started(): Promise<Running> {
  running ??= start()
  return running
}

const cleanups: (() => Promise<void>)[] = []
afterAll(async () => {
  for (const clean of cleanups) await clean()
})

async function start(): Promise<Running> {
  const keys = { customerId: 'shop', restKey: 'r'.repeat(32), trackingKey: 'SHOPKEY' }
  const added = await runNode(
    process.execPath,
    [
      ...[BIN, 'customer', 'add', '--id', keys.customerId, '--tracking-key', keys.trackingKey],
      ...['--origin', 'https://shop.example'],
    ],
    gateway.folder,
    { REST_KEY: keys.restKey },
  )
  expect(added).toMatchObject({ code: 0, stderr: '' })
  const child = spawn(process.execPath, [BIN, 'start'], {
    cwd: gateway.folder,
    env: { ...process.env, PORT: '0', DRAIN_MS: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const closed = new Promise<number | null>((resolve) => child.on('close', resolve))
  cleanups.push(async () => {
    child.kill('SIGTERM')
    expect(await closed).toBe(0)
  })
  const url = await new Promise<string>((resolve, reject) => {
    let log = ''
    child.stdout.on('data', (chunk) => {
      log += chunk
      const found = /"url":"(http[^"]+)"/.exec(log)
      if (found) resolve(found[1] as string)
    })
    closed.then((code) => reject(new Error(`The gateway has ended (${code}): ${log}`)))
  })
  return { url, keys }
}

test('an installed gateway serves its script and its pages, and takes an event of a page', async () => {
  const { url, keys } = await started()
  const script = await fetch(`${url}/t/j/${keys.trackingKey}`)
  expect(script.headers.get('content-type')).toMatch(/javascript/)
  expect(await script.text()).toContain(keys.trackingKey)
  expect((await fetch(`${url}/live/`)).status).toBe(200)
  const event = await fetch(`${url}/t/r?k=${keys.trackingKey}`, {
    method: 'POST',
    headers: { origin: 'https://shop.example', 'content-type': 'text/plain' },
    body: JSON.stringify({
      did: '7c9f2f4e-1d0b-4a53-9f6e-2f6d3b0c8a11',
      event: 'view_homepage',
      url: 'https://shop.example/',
    }),
  })
  expect([event.status, await event.json()]).toEqual([200, { id: expect.any(String) }])
})

/** Puts a copy of better-sqlite3 into a project: its JavaScript, and nothing that is compiled. */
function copyWithoutBinary(folder: string): void {
  const target = join(folder, 'node_modules/better-sqlite3')
  mkdirSync(target, { recursive: true })
  for (const part of ['lib', 'package.json'])
    cpSync(join(root, 'node_modules/better-sqlite3', part), join(target, part), { recursive: true })
  for (const name of ['bindings', 'file-uri-to-path']) linkModule(name, folder)
}

describe('a better-sqlite3 that can not be loaded', () => {
  let broken: Installed
  beforeAll(() => {
    broken = installPackage()
  })
  afterAll(() => broken?.remove())

  test('without its binary, the command says how to build it', async () => {
    copyWithoutBinary(broken.folder)
    const ended = await runNode(process.execPath, [BIN, 'start'], broken.folder)
    expect(ended).toMatchObject({ code: 69, stdout: '' })
    expect(ended.stderr).toMatch(/its binary can not be loaded by Node \d+\.\d+\.\d+ \(Could not/)
    expect(ended.stderr).toContain('npm rebuild better-sqlite3 --ignore-scripts=false\n')
  })

  test('with the binary of another Node version too', async () => {
    const other = findNode(process.versions.node.startsWith('22.') ? '24' : '22')
    const ended = await runNode(other, [BIN, 'start'], gateway.folder)
    expect(ended).toMatchObject({ code: 69, stdout: '' })
    expect(ended.stderr).toContain('npm rebuild better-sqlite3 --ignore-scripts=false\n')
  })
})

/** A shop whose pages have no tag. */
async function startShop(): Promise<{ url: string; close: () => Promise<void> }> {
  const server: Server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html')
    response.end('<!doctype html><title>Shop</title><h1>Mugs</h1>')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close: () => new Promise((resolve) => void server.close(() => resolve())),
  }
}

const hangs: readonly [name: string, respond: Respond][] = [
  ['does not answer', () => {}],
  [
    'stops in the middle of its answer',
    (response) => {
      response.writeHead(200)
      response.write('{')
    },
  ],
]
test.each(hangs)('a process ends by itself after a gateway that %s', async (_name, respond) => {
  const api = await startApi(respond)
  const output = await runScript(
    process.execPath,
    'hang.mjs',
    `import { createClient } from 'shoptrail/client'
     const client = createClient({ customerId: 'c', restKey: 'rest-key', baseUrl: '${api.url}' })
     const error = await client.campaigns.list({}, { timeoutMs: 1000, retries: 0 }).catch((e) => e)
     console.log(error.name, error.status)`,
  )
  expect(output).toBe('ApiException 0 (0)')
  expect(api.received).toHaveLength(1)
  await api.close()
})
