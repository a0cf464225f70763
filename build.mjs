// Installs missing packages and builds the whole product into dist.
//
//   node build.mjs           install, build, print the sizes, compare them with the budgets
//   node build.mjs --sizes   the same, and print the size of each feature of the script (some seconds)
//   node build.mjs start     install, build if a source has changed, start the gateway with its demo
//
// The script of "npm start" begins with exec, so that there is no shell between npm and the gateway. If Ctrl-C ended
// that shell, npm would exit before the gateway has stopped. The command after it is for Windows, which has no exec.
//
// Only modules of Node may be imported at the top, because the packages may not be installed yet.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { installPackages, root } from './src/build/install.mjs'

const STAMP = join(root, 'dist/built-from')

try {
  installPackages()
  const starting = process.argv[2] === 'start'
  const stamp = stampOfSources()
  const fresh = existsSync(STAMP) && readFileSync(STAMP, 'utf8') === stamp
  if (!starting || !fresh) await build(stamp, process.argv.includes('--sizes'))
  if (starting) await startGateway()
} catch (error) {
  // esbuild has already printed its errors. The first line of its message has their number.
  console.error(`\n${error.errors ? error.message.split('\n')[0] : error.message}`)
  process.exit(1)
}

async function build(stamp, withFeatures) {
  const { buildBundles, write } = await import('./src/build/bundles.mjs')
  const { buildLibrary } = await import('./src/build/library.mjs')
  const { licensesOf } = await import('./src/build/licenses.mjs')
  const { buildPages } = await import('./src/build/pages.mjs')
  const { stop } = await import('esbuild')
  const { checkSizes, printFeatureSizes } = await import('./src/build/sizes.mjs')
  const { version, budgetBrotliBytes } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  )
  console.log('Building. This takes a minute.')
  const inputs = [
    ...(await buildBundles(version)),
    ...(await buildLibrary(version)),
    ...(await buildPages()),
  ]
  write('licenses.txt', licensesOf(inputs))
  const faults = checkSizes(budgetBrotliBytes)
  if (withFeatures) await printFeatureSizes(version)
  // Otherwise the process of esbuild would run as long as the gateway.
  await stop()
  if (faults.length) throw new Error(faults.join('\n'))
  mkdirSync(join(root, 'dist'), { recursive: true })
  writeFileSync(STAMP, stamp)
}

/** A hash of all sources of dist. If it has not changed, `start` does not build. */
function stampOfSources() {
  const hash = createHash('sha256')
  const sources = ['src', 'public'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true })
      .filter((path) => /\.\w+$/.test(path) && !/\.test\.|fixtures/.test(path))
      .map((path) => join(folder, path))
      .sort(),
  )
  for (const path of [...sources, 'build.mjs', 'package.json', 'package-lock.json']) {
    hash.update(`${path}\0`).update(readFileSync(join(root, path)))
  }
  return hash.digest('hex')
}

/** Starts the gateway in this process, so that it gets the Ctrl-C of the terminal itself. */
async function startGateway() {
  process.env.DEMO ??= 'on'
  process.argv = [process.execPath, join(root, 'dist/shoptrail.js'), 'start']
  await import('./dist/shoptrail.js')
}
