import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { json, type Respond, startApi } from '../test/api.ts'
import { makeFolder } from '../test/gateway.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** A project in which the package is installed, as `npm pack` makes it from the last build. */
let folder: string
let files: readonly string[]

beforeAll(() => {
  folder = makeFolder()
  const packed = run(
    'npm',
    ['pack', '--ignore-scripts', '--json', '--pack-destination', folder],
    root,
  )
  const [{ filename, files: entries }] = JSON.parse(packed)
  files = entries.map(({ path }: { readonly path: string }) => path)
  run('tar', ['-xzf', filename], folder)
  mkdirSync(join(folder, 'node_modules'))
  renameSync(join(folder, 'package'), join(folder, 'node_modules/shoptrail'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function run(command: string, args: readonly string[], cwd: string): string {
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd,
    encoding: 'utf8',
    shell: process.platform === 'win32',
  })
  expect(`${status} ${stderr}`, `${command} ${args.join(' ')}\n${stdout}`).toMatch(/^0 /)
  return stdout
}

/** Runs a script in the project, in another process. Resolves with its output and its exit code. */
function runScript(name: string, script: string): Promise<string> {
  writeFileSync(join(folder, name), script)
  const child = spawn(process.execPath, [name], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return new Promise((resolve) => {
    let output = ''
    child.stdout.on('data', (chunk) => {
      output += chunk
    })
    child.on('close', (status) => resolve(`${output.trim()} (${status})`))
  })
}

test('the package contains the build and the pages, and nothing else', () => {
  const known =
    /^(package\.json|README\.md|LICENSE|docs\/[\w-]+\.(md|png)|dist\/[\w-]+\.js|dist\/client\.cjs|dist\/licenses\.txt|CHANGELOG\.md|dist\/client\/types-(esm|cjs)\/(package\.json|(client|contract)\/\w+\.d\.ts)|dist\/track\/[\w-]+\.js|dist\/public\/[\w/-]+\.(html|css|js|svg)|src\/tracker\/global\.d\.ts)$/
  expect(files.filter((file) => !known.test(file) || /\.test\.|fixtures/.test(file))).toEqual([])
  for (const file of [
    'client.js',
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

test('the client is one file without imports, not minified', () => {
  for (const file of ['dist/client.js', 'dist/client.cjs']) {
    const code = readFileSync(join(folder, 'node_modules/shoptrail', file), 'utf8')
    expect(code).not.toMatch(/^\s*import\b|\bimport\(|\brequire\(|\bprocess\b|\bBuffer\b/m)
    expect(code).toContain('function createClient(options)')
  }
})

const BODY = `
  const options = { customerId: 'c', restKey: 'rest-key', baseUrl: process.argv[2] ?? URL_OF_API, retries: 0 }
  const client = createClient(options)
  const list = await client.campaigns.list()
  const invalid = await client.campaigns.getEmailReport('').catch((error) => error)
  console.log(list.total, invalid instanceof ValidationException, typeof ApiException)
`
const scripts: readonly [name: string, script: string][] = [
  [
    'module.mjs',
    `import { ApiException, createClient, ValidationException } from 'shoptrail/client'\n${BODY}`,
  ],
  [
    'common.cjs',
    `const { ApiException, createClient, ValidationException } = require('shoptrail/client')
     async function main() { ${BODY} }
     main()`,
  ],
]
test.each(scripts)('%s uses the client, without any other package', async (name, script) => {
  const api = await startApi(json(200, { data: [], page: 1, limit: 20, total: 7 }))
  const output = await runScript(name, script.replace('URL_OF_API', JSON.stringify(api.url)))
  await api.close()
  expect(output).toBe('7 true function (0)')
})

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

/** Code of a consumer. If a type were `any`, a line with `@ts-expect-error` would compile, which is an error. */
const CONSUMER = `
export async function consume(restKey: string | undefined): Promise<string> {
  const client = createClient({ customerId: 'c', restKey, baseUrl: 'https://gateway.example' })
  const { data, total } = await client.campaigns.list({ type: 'email' })
  const utm: string | undefined = data[0]?.tracking.utm_campaign
  const line = { product_id: 12, quantity: 1, variation: { id: '12-1', sku: 'MUG' } }
  const visitor = { did: 'd', url: 'https://s.example/', http_user_agent: 'a', remote_addr: '::1' }
  const { id } = await client.events.addToCart({ ...visitor, ...line })
  // @ts-expect-error a line has a quantity
  await client.events.addToCart({ ...visitor, ...line, quantity: undefined })
  // @ts-expect-error no such field in an answer
  id.nothing
  try {
    await client.campaigns.getLatestCampaign(3)
  } catch (error) {
    if (error instanceof ValidationException) return error.issues.map(({ path }) => path).join()
    if (error instanceof ApiException && error.mayHaveArrived) return error.message
  }
  return id + total + utm
}
`
const RUNTIME = `
export const controller = new AbortController()
export const settings: ClientOptions = { customerId: 'c', restKey: 'r', baseUrl: 'u', fetch, now: Date.now }
// @ts-expect-error a number is not a clock
export const dull: ClientOptions = { ...settings, now: 4 }
export const call = (client: Client) => client.campaigns.list({}, { signal: controller.signal })
// @ts-expect-error a text is not a signal
export const wrong = (client: Client) => client.campaigns.list({}, { signal: 'x' })
`
const IMPORT = `import { ApiException, createClient, ValidationException } from 'shoptrail/client'\n`
const REQUIRE = `import shoptrail = require('shoptrail/client')
const { ApiException, createClient, ValidationException } = shoptrail\n`
const TYPES = `import type { Client, ClientOptions } from 'shoptrail/client'\n`
const NODENEXT = { module: 'nodenext', moduleResolution: 'nodenext' }
const BUNDLER = { module: 'esnext', moduleResolution: 'bundler' }

const ALL = TYPES + CONSUMER + RUNTIME
const NODE = { ...NODENEXT, types: ['node'] }
const BROWSER = { ...BUNDLER, lib: ['es2022', 'dom', 'dom.iterable'] }

const consumers: readonly [file: string, source: string, options: object][] = [
  ['nodenext.mts', IMPORT + ALL, NODE],
  ['nodenext.cts', IMPORT + ALL, NODE],
  ['required.cts', REQUIRE + ALL, NODE],
  ['bundler.ts', IMPORT + ALL, BROWSER],
  // Without the types of Node and of browsers. skipLibCheck, because valibot's types need them.
  ['bare.mts', IMPORT + CONSUMER, { ...NODENEXT, skipLibCheck: true }],
]
test.each(consumers)('%s has its types', (file, source, options) => {
  const project = join(folder, 'types')
  rmSync(project, { recursive: true, force: true })
  mkdirSync(join(project, 'node_modules'), { recursive: true })
  // An install would add these packages. The types of the contract use those of valibot.
  for (const name of ['valibot', '@types', 'undici-types'])
    symlinkSync(join(root, 'node_modules', name), join(project, 'node_modules', name), 'junction')
  symlinkSync(
    join(folder, 'node_modules/shoptrail'),
    join(project, 'node_modules/shoptrail'),
    'junction',
  )
  writeFileSync(join(project, file), source)
  const compilerOptions = {
    strict: true,
    noEmit: true,
    skipLibCheck: false,
    preserveSymlinks: true,
    target: 'es2022',
    lib: ['es2022'],
    types: [],
    ...options,
  }
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: [file] }))
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  expect(run(process.execPath, [tsc, '-p', project], project)).toBe('')
})
