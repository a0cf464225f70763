import { chmodSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { runInNewContext } from 'node:vm'
import { build } from 'esbuild'
import { minify } from 'terser'
import { root } from './install.mjs'
import { DEVICE_COOKIE, entryOf, PART_SETS, scriptFile } from './partSets.mjs'

const dist = join(root, 'dist')

/** Modules that each bundle may contain. Another library or a module of another part is a mistake. */
export const BROWSER_INPUTS = /^src\/(tracker|contract)\/|(^|\/)node_modules\/valibot\//
/** The inspector is loaded only in debug mode, so it may contain more. */
export const INSPECTOR_INPUTS = /^src\/(tracker|contract)\/|(^|\/)node_modules\/(valibot|preact)\//
export const CONTRACT_INPUTS = /^src\/contract\/|(^|\/)node_modules\/valibot\//
export const CLIENT_INPUTS = /^src\/(client|contract)\/|(^|\/)node_modules\/valibot\//
/**
 * The gateway's libraries, and on the second line those that they need. better-sqlite3 is not in a bundle, since it is
 * compiled for each machine (docs/decisions.md, "Package").
 */
const GATEWAY_LIBRARIES = [
  ...['@hono/node-server', 'hono', 'ipaddr.js', 'isbot', 'lru-cache', 'pino', 'prom-client'],
  ...['proxy-addr', 'valibot', 'htmlparser2'],
  ...['@opentelemetry/api', '@pinojs/redact', 'atomic-sleep', 'bintrees', 'forwarded'],
  ...['on-exit-leak-free', 'pino-std-serializers', 'quick-format-unescaped'],
  ...['safe-stable-stringify', 'sonic-boom', 'tdigest', 'thread-stream', 'entities'],
  ...['domelementtype', 'domhandler', 'domutils', 'dom-serializer'],
  ...['@nats-io/transport-node', '@nats-io/jetstream', '@nats-io/kv', '@nats-io/obj'],
  ...['@nats-io/nats-core', '@nats-io/nkeys', '@nats-io/nuid', 'tweetnacl', 'js-sha256'],
  ...['hyparquet-writer', 'hyparquet'],
]
export const GATEWAY_INPUTS = new RegExp(
  `^src/(gateway|contract|client)/|^src/tracker/snippet\\.ts$|(^|/)node_modules/(${GATEWAY_LIBRARIES.join('|').replaceAll('.', '\\.')})/(?!.*\\bnode_modules/)`,
)

/** Libraries of CommonJS load modules of Node with `require`, which a module does not have. */
const REQUIRE =
  "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);"

const TERSER = { ecma: 2020, compress: { ecma: 2020, passes: 5, unsafe_arrows: true } }

const GATEWAY_BUNDLES = {
  'gateway.js': 'src/gateway/index.ts',
  'shoptrail.js': 'src/gateway/shoptrail.ts',
  'sqlite-worker.js': 'src/gateway/sqlite/worker.ts',
  'report-worker.js': 'src/gateway/sqlite/reportWorker.ts',
  'person-worker.js': 'src/gateway/sqlite/personWorker.ts',
  'doctor-probe.js': 'src/gateway/doctor/probe.ts',
  'forward-worker.js': 'src/gateway/sqlite/forwardWorker.ts',
  'derived-worker.js': 'src/gateway/sqlite/derivedWorker.ts',
}

/**
 * Builds the bundles of the script and the gateway into dist.
 *
 * @param version Version of the package; the sources see it as `__version__`.
 * @returns The modules in the bundles, as paths from the root.
 */
export async function buildBundles(version) {
  const inputs = []
  const keep = (file, bundle) => {
    write(file, bundle.code)
    inputs.push(...bundle.inputs)
  }
  for (const set of PART_SETS) keep(scriptFile(set), await bundleTracker(version, set))
  for (const folder in MODULES) keep(`${folder}.js`, await bundleModule(folder, version))
  for (const [file, entry] of Object.entries(GATEWAY_BUNDLES))
    keep(file, await bundleGateway(file, entry, version))
  chmodSync(join(dist, 'shoptrail.js'), 0o755)
  return inputs
}

/**
 * Makes Chromium compile the whole script in the background while it loads. Without it, the page's main thread
 * compiles each function at its first call, which takes half of the script's start time. For other browsers it is a
 * comment (https://v8.dev/blog/explicit-compile-hints).
 */
const COMPILE_HINT = '//# allFunctionsCalledOnLoad\n'

/**
 * Bundles the script with a set of parts: one expression, a function of the configuration. The gateway appends the
 * call.
 *
 * @param set Names of parts, in the order in which they start. DEVICE_COOKIE may be the first.
 * @param plugins esbuild plugins, to measure the size of a module. Default: none.
 * @returns The code, and the modules in it, as paths from the root.
 */
export async function bundleTracker(version, set, plugins = []) {
  const entry = entryOf(set)
  const define = { __deviceCookie__: `${set.includes(DEVICE_COOKIE)}` }
  const { code, inputs } = await bundleBrowser(entry, 'src/tracker', version, plugins, define)
  const expression = await minifyExpression(`function(__config__){"use strict";${code}}`)
  return { code: COMPILE_HINT + expression, inputs }
}

/** The modules that the script imports when a page needs them, by their folder. */
const MODULES = {
  // In debug mode.
  inspector: `import { start } from './main.ts'
    import { createPart } from './part.ts'
    export const inspector = createPart(start)`,
  // If a page has `load` or `visible` elements.
  presence: `export { start } from './main.ts'`,
}

async function bundleModule(folder, version) {
  const isInspector = folder === 'inspector'
  const define = isInspector ? { __inspectorStyle__: JSON.stringify(await bundleStyle()) } : {}
  const allowed = isInspector ? INSPECTOR_INPUTS : BROWSER_INPUTS
  const { code, inputs } = await bundleBrowser(
    MODULES[folder],
    `src/tracker/${folder}`,
    version,
    [],
    define,
    allowed,
  )
  return { code: (await minify(code, { ...TERSER, module: true })).code, inputs }
}

/** The style of the inspector's panel. A text in its script, since the page's policy may forbid other styles. */
async function bundleStyle() {
  const { outputFiles } = await build({
    entryPoints: ['src/tracker/inspector/panel.css'],
    absWorkingDir: root,
    write: false,
    minify: true,
    target: 'es2021',
    logLevel: 'error',
  })
  return outputFiles[0].text
}

/** Bundles without exports, so that the text can be put into a function as it is. */
async function bundleBrowser(
  contents,
  folder,
  version,
  plugins = [],
  define = {},
  allowed = BROWSER_INPUTS,
) {
  const { outputFiles, metafile } = await build({
    stdin: { contents, resolveDir: join(root, folder), sourcefile: `${folder}/(entry)` },
    absWorkingDir: root,
    bundle: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'browser',
    // Since 2020: Chrome 85, Safari 14, Firefox 79.
    target: 'es2021',
    minify: true,
    // Class fields become assignments. The helper that would define them has 70 bytes.
    tsconfigRaw: {
      compilerOptions: {
        useDefineForClassFields: false,
        jsx: 'react-jsx',
        jsxImportSource: 'preact',
      },
    },
    legalComments: 'none',
    logLevel: 'error',
    define: { __version__: JSON.stringify(version), ...define },
    plugins,
  })
  const inputs = Object.keys(metafile.inputs).filter((path) => !path.endsWith('(entry)'))
  refuseForeign(inputs, allowed, folder)
  return { code: outputFiles[0].text, inputs }
}

/**
 * Minifies an expression with terser, which makes it 5 % smaller than esbuild alone. terser drops an expression whose
 * value is not used, so it gets an assignment. Its left side is removed afterwards.
 */
async function minifyExpression(expression) {
  const { code } = await minify(`_=${expression}`, { ...TERSER, module: false })
  const minified = `(${code.slice('_='.length).replace(/;$/, '')})`
  // The gateway puts these texts together without a check.
  if (!code.startsWith('_=') || typeof runInNewContext(minified) !== 'function') {
    throw new Error(`terser did not return a function: ${code.slice(0, 80)} …`)
  }
  return minified
}

async function bundleGateway(file, entry, version) {
  const { outputFiles, metafile } = await build({
    entryPoints: [entry],
    absWorkingDir: root,
    bundle: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    // Node keeps the text of a module and reads all of it at the start: without comments and spaces 4 MB of memory less.
    // Names and lines stay, so that the stack of an error in a log can be read.
    minifyWhitespace: true,
    minifySyntax: true,
    lineLimit: 120,
    legalComments: 'none',
    logLevel: 'error',
    define: { __version__: JSON.stringify(version) },
    banner: { js: (file === 'shoptrail.js' ? '#!/usr/bin/env node\n' : '') + REQUIRE },
  })
  const inputs = Object.keys(metafile.inputs)
  refuseForeign(inputs, GATEWAY_INPUTS, entry)
  return { code: outputFiles[0].text, inputs }
}

/** The names of a module's exports, without types. */
export async function exportsOf(path) {
  const { metafile } = await build({
    entryPoints: [path],
    absWorkingDir: root,
    bundle: true,
    write: false,
    metafile: true,
    format: 'esm',
    outfile: 'exports.js',
    logLevel: 'error',
  })
  return metafile.outputs['exports.js'].exports
}

/** Throws if a bundle contains a module that is not allowed in it. The error names the module. */
export function refuseForeign(inputs, allowed, name) {
  const foreign = inputs.filter((path) => !allowed.test(path))
  if (foreign.length) {
    throw new Error(`The bundle of ${name} must not contain ${foreign.join(', ')}`)
  }
}

/** Writes a file below dist in one step: a gateway that starts meanwhile reads the old file or the new one. */
export function write(file, contents) {
  const path = resolve(dist, file)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(`${path}.${process.pid}`, contents)
  renameSync(`${path}.${process.pid}`, path)
}
