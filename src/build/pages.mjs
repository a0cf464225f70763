import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { refuseForeign, write } from './bundles.mjs'
import { root } from './install.mjs'

/** Modules that the script of a page may contain. */
export const PAGE_INPUTS = /^(public|src\/contract)\/|(^|\/)node_modules\/preact\//
/** Modules that may generate the pages of the demo shop. */
const GENERATOR_INPUTS = /^(public\/shop\/|src\/tracker\/snippet\.ts$)/

/** The operators' pages. Each has a script, a style, a page and the icon. */
const OPERATOR_PAGES = ['live', 'campaigns', 'people', 'forward', 'setup']

/**
 * Builds what the gateway serves under /live, /campaigns, /people, /forward, /setup and /shop into dist/public.
 *
 * @returns The modules in the pages' scripts, as paths from the root.
 */
export async function buildPages() {
  const files = new Map()
  const inputs = []
  const bundled = async (path, entry, options) => {
    const bundle = await bundlePage(entry, options)
    files.set(path, bundle.contents)
    inputs.push(...bundle.inputs)
  }
  for (const page of OPERATOR_PAGES) {
    files.set(`${page}/index.html`, readFileSync(inPublic(`${page}/index.html`)))
    files.set(`${page}/icon.svg`, readFileSync(inPublic('operator/icon.svg')))
    await bundled(`${page}/${page}.js`, `${page}/${page}.tsx`, { minify: true })
    await bundled(`${page}/${page}.css`, `${page}/${page}.css`, { minify: true })
  }
  // Not minified, because shop developers read it.
  await bundled('shop/shop.js', 'shop/shop.tsx')
  for (const [path, html] of await generateShop()) files.set(`shop/${path}`, html)
  for (const path of readdirSync(inPublic('shop'), { recursive: true }))
    if (/\.(css|svg)$/.test(path))
      files.set(`shop/${slashed(path)}`, readFileSync(inPublic('shop', path)))

  for (const [path, contents] of files) write(`public/${path}`, contents)
  removeOthers(files)
  return inputs
}

const inPublic = (...path) => join(root, 'public', ...path)
const slashed = (path) => path.replaceAll('\\', '/')

async function bundlePage(entry, options = {}) {
  const { outputFiles, metafile } = await build({
    entryPoints: [`public/${entry}`],
    absWorkingDir: root,
    outdir: 'dist/public',
    bundle: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    legalComments: 'none',
    logLevel: 'error',
    ...options,
  })
  const inputs = Object.keys(metafile.inputs)
  refuseForeign(inputs, PAGE_INPUTS, entry)
  return { contents: outputFiles[0].contents, inputs }
}

/** Generates the pages of the demo shop from its products. Returns HTML by path below the shop. */
async function generateShop() {
  const { outputFiles, metafile } = await build({
    entryPoints: ['public/shop/pages/pages.ts'],
    absWorkingDir: root,
    bundle: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'neutral',
    target: 'node20',
    logLevel: 'error',
  })
  refuseForeign(Object.keys(metafile.inputs), GENERATOR_INPUTS, 'the demo shop')
  const code = Buffer.from(outputFiles[0].contents).toString('base64')
  const { PAGES } = await import(`data:text/javascript;base64,${code}`)
  return PAGES
}

/** Removes files of an earlier build, which would be served and packed too. */
function removeOthers(files) {
  const folder = join(root, 'dist/public')
  for (const path of readdirSync(folder, { recursive: true }))
    if (!files.has(slashed(path)) && statSync(join(folder, path)).isFile())
      rmSync(join(folder, path))
}
