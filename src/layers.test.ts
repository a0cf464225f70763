import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { expect, test } from 'vitest'

type Edge = readonly [from: string, to: string]

const root = fileURLToPath(new URL('..', import.meta.url))

/** For each folder of the gateway, those that it may import from. The entry files may import from all of them. */
const GATEWAY = {
  sqlite: [
    ...[
      'campaigns',
      'collect',
      'customers',
      'engine',
      'forward',
      'http',
      'lib',
      'operators',
      'orders',
      'people',
      'problems',
    ],
    'script',
  ],
  // Followers keep a copy of the log in SQLite.
  nats: [
    ...['campaigns', 'collect', 'customers', 'engine', 'forward', 'http', 'lib', 'operators'],
    ...['orders', 'people', 'problems', 'script', 'sqlite'],
  ],
  export: ['collect', 'lib', 'nats', 'sqlite'],
  move: ['collect', 'lib', 'nats', 'problems', 'sqlite'],
  engine: [
    ...['campaigns', 'collect', 'customers', 'forward', 'http', 'operators', 'orders'],
    ...['people', 'problems', 'script'],
  ],
  operators: [
    ...['campaigns', 'check', 'collect', 'customers', 'forward', 'http', 'lib', 'people'],
    'problems',
  ],
  forward: ['collect', 'customers', 'http', 'lib'],
  check: ['customers', 'http', 'lib'],
  campaigns: ['collect', 'customers', 'http', 'lib', 'problems', 'rest'],
  // The check of the REST key in front of the calls of a shop's server.
  rest: ['collect', 'customers', 'http', 'problems'],
  orders: ['collect', 'customers', 'http', 'lib', 'people', 'rest'],
  script: ['collect', 'customers', 'http', 'lib', 'problems'],
  people: ['lib'],
  settings: ['lib'],
  doctor: ['http', 'lib', 'nats', 'sqlite'],
  logs: ['http'],
  collect: ['customers', 'http', 'lib', 'problems'],
  problems: ['customers', 'http', 'lib'],
  customers: ['http', 'lib'],
  http: ['lib'],
  lib: [],
}

/**
 * For each folder, the other folders that its files may import from. A file belongs to the innermost of these folders
 * that contains it.
 */
const FOLDERS: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  client: ['contract'],
  tracker: ['contract', 'tracker/lib'],
  'tracker/lib': ['contract'],
  'tracker/parts': ['contract', 'tracker', 'tracker/lib'],
  // These are separate bundles.
  'tracker/inspector': ['contract', 'tracker', 'tracker/lib'],
  'tracker/presence': ['contract', 'tracker', 'tracker/lib'],
  gateway: ['contract', ...Object.keys(GATEWAY).map((name) => `gateway/${name}`)],
  ...Object.fromEntries(
    Object.entries(GATEWAY).map(([name, below]) => [
      `gateway/${name}`,
      ['contract', ...below.map((folder) => `gateway/${folder}`)],
    ]),
  ),
  // The kind `service` of destinations.
  'gateway/forward': [
    ...['contract', 'client'],
    ...GATEWAY.forward.map((folder) => `gateway/${folder}`),
  ],
  // The stub that it prints.
  'gateway/check': ['contract', 'tracker', ...GATEWAY.check.map((folder) => `gateway/${folder}`)],
  'public/operator': ['contract'],
  'public/live': ['contract', 'public/operator'],
  'public/campaigns': ['contract', 'public/operator'],
  'public/people': ['contract', 'public/operator'],
  'public/forward': ['contract', 'public/operator'],
  'public/setup': ['contract', 'public/operator'],
  'public/shop': ['contract', 'tracker'],
}

/** The files of the script's own folder that other bundles may import: types, and the snippet that shops paste. */
const OF_SCRIPT: Readonly<Record<string, readonly string[]>> = {
  'tracker/inspector': [
    'tracker/config.ts',
    'tracker/debug.ts',
    'tracker/global.d.ts',
    'tracker/parts.ts',
  ],
  'tracker/presence': ['tracker/config.ts'],
  'gateway/check': ['tracker/snippet.ts'],
  'public/shop': ['tracker/global.d.ts', 'tracker/snippet.ts'],
}

/** Exports the parts, as the build puts them into the scripts. */
const PACKAGE = 'tracker/index.ts'

/**
 * The path of an event through the script's files, top to bottom (docs/how-it-works.md). A file may import from its own
 * line and from those below it, not from one above. flush has a separate line, because it calls the outbox and the
 * transport, and these do not call it.
 */
const LINES: readonly (readonly string[])[] = [
  ['index', 'main'],
  ['tracker'],
  ['helpers', 'earlyCalls', 'parts', 'debug'],
  ['track', 'duplicates', 'deviceCookie'],
  ['payload', 'deviceId', 'schemas'],
  ['flush'],
  ['outbox', 'transport'],
  ['problems'],
  ['notices', 'config'],
]

/** Files of one line that have an order: the first may import the second, the second not the first. */
const BELOW: readonly Edge[] = [['transport', 'outbox']]

/**
 * The file of the script that a part may import a value from. The second key of a page may bring a part with a
 * copy of the script that does not run. State belongs to the running copy, which passes it in.
 */
const STATELESS = 'tracker/schemas.ts'

/** Import and export declarations, also of types, and dynamic imports. */
const IMPORT =
  /^(?:import|export)\b[^'"`;]*?\bfrom '(\.[^']+)'|^import '(\.[^']+)'|\bimport\('(\.[^']+)'\)/gm

/** Every source file, as a path below src. Paths of the pages begin with public. */
const files = ['src', 'public']
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((path) =>
      join(folder, path).replaceAll('\\', '/'),
    ),
  )
  .filter((path) => /\.(ts|tsx|js)$/.test(path) && !/\.test\.|\.mjs$/.test(path))
  .map((path) => path.replace(/^src\//, ''))
  .filter((path) => !/^(build|test)\//.test(path))

const absolute = (path: string) => join(root, path.startsWith('public/') ? path : `src/${path}`)

const edges: readonly Edge[] = files.flatMap((from) =>
  [...readFileSync(absolute(from), 'utf8').matchAll(IMPORT)].map((found): Edge => {
    const target = join(dirname(absolute(from)), found[1] ?? found[2] ?? found[3] ?? '')
    return [
      from,
      relative(root, target)
        .replaceAll('\\', '/')
        .replace(/^src\//, ''),
    ]
  }),
)

const folderOf = (path: string) =>
  Object.keys(FOLDERS)
    .filter((folder) => path.startsWith(`${folder}/`))
    .sort((a, b) => b.length - a.length)[0]

const nameOf = (path: string) => path.replace(/^tracker\/|\.ts$/g, '')
const lineOf = (path: string) => LINES.findIndex((names) => names.includes(nameOf(path)))

/** The fault of an import. Undefined if it is allowed. */
function faultOf([from, to]: Edge): string | undefined {
  const edge = `${from} imports ${to}`
  const [folder, target] = [folderOf(from), folderOf(to)]
  if (!folder || !target) return `${edge}: one of them is in no folder of this test`
  if (from === PACKAGE && target === 'tracker/parts') return
  if (folder !== target && !FOLDERS[folder]?.includes(target)) return edge
  if (folder === 'tracker/parts' && target === folder) return edge
  if (target !== 'tracker') return
  const open = OF_SCRIPT[folder]
  if (open) return open.includes(to) ? undefined : edge
  if (folder !== 'tracker' || to.endsWith('.d.ts') || from.endsWith('.d.ts')) return
  const [above, below] = [lineOf(from), lineOf(to)]
  if (above < 0 || below < 0) return `${edge}: one of them has no line`
  const isBack = BELOW.some(([first, second]) => nameOf(from) === second && nameOf(to) === first)
  return above > below || isBack ? edge : undefined
}

/** The circles in a graph, each as a path that ends at its start. */
function circlesOf(all: readonly Edge[]): string[] {
  const targets = new Map<string, string[]>()
  for (const [from, to] of all) targets.set(from, [...(targets.get(from) ?? []), to])
  const circles: string[] = []
  const done = new Set<string>()
  const walk = (file: string, path: readonly string[]) => {
    const start = path.indexOf(file)
    if (start >= 0) circles.push([...path.slice(start), file].join(' → '))
    if (start >= 0 || done.has(file)) return
    for (const target of targets.get(file) ?? []) walk(target, [...path, file])
    done.add(file)
  }
  for (const file of targets.keys()) walk(file, [])
  return circles
}

test('every import is of a file that exists', () => {
  expect(edges.length).toBeGreaterThan(400)
  expect(edges.filter(([, to]) => !existsSync(absolute(to)))).toEqual([])
})

test('a folder imports only from those below it, a file of the script only from later lines', () => {
  expect(edges.map(faultOf).filter((fault) => fault !== undefined)).toEqual([])
})

test('no imports go in a circle', () => {
  expect(circlesOf(edges)).toEqual([])
})

test('a circle is found, wherever it begins', () => {
  const path: Edge[] = [
    ['a', 'b'],
    ['a', 'c'],
    ['b', 'c'],
  ]
  expect(circlesOf(path)).toEqual([])
  expect(circlesOf([...path, ['c', 'b']])).toEqual(['b → c → b'])
  expect(circlesOf([['a', 'a']])).toEqual(['a → a'])
})

test.each<Edge>([
  ['tracker/outbox.ts', 'tracker/track.ts'],
  ['tracker/outbox.ts', 'tracker/transport.ts'],
  ['tracker/outbox.ts', 'tracker/flush.ts'],
  ['tracker/transport.ts', 'tracker/flush.ts'],
  ['tracker/flush.ts', 'tracker/payload.ts'],
  ['tracker/payload.ts', 'tracker/track.ts'],
  ['tracker/track.ts', 'tracker/helpers.ts'],
  ['tracker/notices.ts', 'tracker/track.ts'],
  ['tracker/helpers.ts', 'tracker/main.ts'],
  ['tracker/main.ts', 'tracker/parts/ga4.ts'],
  ['tracker/tracker.ts', 'tracker/index.ts'],
  ['tracker/tracker.ts', 'tracker/parts/ga4.ts'],
  ['tracker/parts/ga4.ts', 'tracker/parts/dataLayer.ts'],
  ['tracker/lib/now.ts', 'tracker/config.ts'],
  ['tracker/inspector/main.ts', 'tracker/track.ts'],
  ['tracker/presence/main.ts', 'tracker/notices.ts'],
  ['tracker/track.ts', 'gateway/collect/collect.ts'],
  ['contract/events.ts', 'tracker/lib/now.ts'],
  ['client/send.ts', 'gateway/index.ts'],
  ['client/send.ts', 'tracker/transport.ts'],
  ['gateway/server.ts', 'tracker/config.ts'],
  ['gateway/http/body.ts', 'gateway/collect/collect.ts'],
  ['gateway/http/body.ts', 'gateway/settings.ts'],
  ['gateway/lib/version.ts', 'gateway/http/answers.ts'],
  ['gateway/customers/customers.ts', 'gateway/sqlite/database.ts'],
  ['gateway/collect/collect.ts', 'gateway/campaigns/rest.ts'],
  ['gateway/campaigns/rest.ts', 'gateway/operators/live.ts'],
  ['gateway/people/person.ts', 'gateway/sqlite/personStore.ts'],
  ['gateway/sqlite/store.ts', 'gateway/main.ts'],
  ['public/live/live.ts', 'public/campaigns/model.ts'],
  ['public/shop/shop.ts', 'tracker/track.ts'],
  ['public/live/live.ts', 'gateway/index.ts'],
])('%s may not import %s', (from, to) => {
  expect(faultOf([from, to])).toContain(`${from} imports ${to}`)
})

const parts = readdirSync(join(root, 'src/tracker/parts'))
  .filter((file) => /^\w+\.ts$/.test(file))
  .map((file) => `src/tracker/parts/${file}`)

/** The files of a bundle, without those that give only types. */
async function inputsOf(...entries: string[]): Promise<string[]> {
  const { metafile } = await build({
    ...(entries.every((entry) => entry.startsWith('src/gateway/')) && {
      platform: 'node',
      format: 'esm',
      packages: 'external',
    }),
    absWorkingDir: root,
    entryPoints: entries,
    outdir: 'out',
    bundle: true,
    write: false,
    metafile: true,
    logLevel: 'error',
  })
  return Object.keys(metafile.inputs)
}

test('events are forwarded in a thread of their own, not in that of the connections or of the log', async () => {
  const loop = 'src/gateway/forward/forwarder.ts'
  expect(await inputsOf('src/gateway/sqlite/forwardWorker.ts')).toContain(loop)
  for (const entry of ['index.ts', 'shoptrail.ts', 'sqlite/worker.ts'])
    expect(await inputsOf(`src/gateway/${entry}`)).not.toContain(loop)
})

test('a start with SQLite loads nothing of the client of NATS', async () => {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: ['src/gateway/shoptrail.ts', 'src/gateway/index.ts'],
    ...{ platform: 'node', format: 'esm', packages: 'external', outdir: 'out' },
    ...{ bundle: true, splitting: true, write: false, metafile: true, logLevel: 'error' },
  })
  const loaded = new Set<string>()
  function load(path: string): void {
    if (loaded.has(path)) return
    loaded.add(path)
    for (const { kind, path: next } of metafile.outputs[path]?.imports ?? [])
      if (kind === 'import-statement') load(next)
  }
  for (const entry of ['out/shoptrail.js', 'out/index.js']) load(entry)
  expect([...loaded]).toContain('hono')
  expect([...loaded].filter((path) => path.startsWith('@nats-io/'))).toEqual([])
})

test('a part reaches no module that has a state', async () => {
  const ours = (await inputsOf(...parts)).filter((path) => path.startsWith('src/'))
  expect(ours.filter((path) => /^src\/tracker\/\w+\.ts$/.test(path))).toEqual([`src/${STATELESS}`])
  // fields.ts has a pattern, which is the same in every copy.
  const stateful = ours.filter(
    (path) => path !== 'src/contract/fields.ts' && STATE.test(readFileSync(root + path, 'utf8')),
  )
  expect(stateful).toEqual([])
})

test('the script for load and visible elements contains no module of the main script', async () => {
  const inputs = await inputsOf('src/tracker/presence/main.ts')
  expect(inputs).toContain('src/tracker/presence/createWatch.ts')
  expect(inputs.filter((path) => !/^src\/tracker\/(presence|lib)\//.test(path))).toEqual([])
})

/** A variable of a module that can change, or a collection. */
const STATE = /^(export )?(let|const \w+.*= new (Weak)?(Map|Set)\b)/m

test('what counts as a state', () => {
  for (const state of ['let last = 0', 'const all = new Map<string, Entry>()', 'export let x'])
    expect(`import a from 'a'\n${state}`).toMatch(STATE)
  expect('function f() {\n  let own = 0\n}\nconst fixed = 1').not.toMatch(STATE)
})

test('the script holds the tracker, the contract and valibot, and nothing else', async () => {
  const inputs = await inputsOf('src/tracker/main.ts')
  const foreign = inputs.filter(
    (path) =>
      !/^(src\/tracker\/(?!parts\/|inspector\/)|src\/contract\/|node_modules\/valibot\/)/.test(
        path,
      ),
  )
  expect(foreign).toEqual([])
  for (const part of ['campaigns.ts', 'keys.ts', 'index.ts'])
    expect(inputs).not.toContain(`src/contract/${part}`)
})
