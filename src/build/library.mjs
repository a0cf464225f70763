import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { BROWSER_INPUTS, CLIENT_INPUTS, CONTRACT_INPUTS, refuseForeign, write } from './bundles.mjs'
import { declarationsOf } from './declarations.mjs'
import { root } from './install.mjs'

/** What the package exports, by the name of its files in dist, with the modules that it may contain. */
const ENTRIES = {
  index: { entry: 'tracker/index.ts', allowed: BROWSER_INPUTS, target: 'es2021' },
  client: { entry: 'client/index.ts', allowed: CLIENT_INPUTS, target: 'es2022' },
  contract: { entry: 'contract/public.ts', allowed: CONTRACT_INPUTS, target: 'es2022' },
}
const TYPES = [...Object.values(ENTRIES).map(({ entry }) => entry), 'tracker/global.d.ts']
const FORMATS = { js: 'esm', cjs: 'cjs' }

/**
 * Builds into dist what other projects import: each entry as one file without imports, as a module and for `require`,
 * and its declarations.
 *
 * @param version Version of the package; the sources see it as `__version__`.
 * @returns The modules in the files, as paths from the root.
 */
export async function buildLibrary(version) {
  const all = []
  for (const [name, entry] of Object.entries(ENTRIES))
    for (const [extension, format] of Object.entries(FORMATS)) {
      const { code, inputs } = await bundleEntry(entry, format, version)
      write(`${name}.${extension}`, code)
      all.push(...inputs)
    }
  // Files of an earlier build would be part of the package.
  rmSync(join(root, 'dist/declarations'), { recursive: true, force: true })
  for (const [path, text] of declarationsOf(TYPES)) write(`declarations/${path}`, text)
  return all
}

/** Not minified, because its users read it in stack traces. Comments that bundlers need to leave out code stay. */
async function bundleEntry({ entry, allowed, target }, format, version) {
  const { outputFiles, metafile } = await build({
    entryPoints: [`src/${entry}`],
    absWorkingDir: root,
    bundle: true,
    write: false,
    metafile: true,
    format,
    platform: 'neutral',
    mainFields: ['module', 'main'],
    target,
    legalComments: 'none',
    logLevel: 'error',
    define: { __version__: JSON.stringify(version), __deviceCookie__: 'true' },
  })
  const inputs = Object.keys(metafile.inputs)
  refuseForeign(inputs, allowed, entry)
  return { code: outputFiles[0].text, inputs }
}
