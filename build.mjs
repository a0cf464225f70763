// Builds the whole product into dist, after installing what is missing.
//
//   node build.mjs           install, build, print the sizes, hold them against the budget
//   node build.mjs --sizes   the same, and what each feature of the script weighs (some seconds)
//   node build.mjs start     install, build if a source has changed, start the gateway with its demo
//
// The script of "npm start" begins with exec, so that no shell stands between npm and the gateway: a
// shell that Ctrl-C ends makes npm go before the gateway has stopped. What follows it there is for
// Windows, where there is no exec.
//
// Only Node's own modules may be imported at the top: before the install there are no others.
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
  // esbuild has already told its errors, one by one; the first line of its message counts them.
  console.error(`\n${error.errors ? error.message.split('\n')[0] : error.message}`)
  process.exit(1)
}

async function build(stamp, withFeatures) {
  const { buildBundles } = await import('./src/build/bundles.mjs')
  const { buildPages } = await import('./src/build/pages.mjs')
  const { stop } = await import('esbuild')
  const { checkSizes, printFeatureSizes } = await import('./src/build/sizes.mjs')
  const { version, budgetBrotliBytes } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  )
  await buildBundles(version)
  await buildPages()
  const faults = checkSizes(budgetBrotliBytes)
  if (withFeatures) await printFeatureSizes(version)
  // Its process would stay as long as the gateway runs.
  await stop()
  if (faults.length) throw new Error(faults.join('\n'))
  mkdirSync(join(root, 'dist'), { recursive: true })
  writeFileSync(STAMP, stamp)
}

/** A hash of all that goes into dist, so that a start with nothing changed does not build. */
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

/** In this process: one process less between the terminal's Ctrl-C and the gateway's clean stop. */
async function startGateway() {
  process.env.DEMO ??= 'on'
  process.argv = [process.execPath, join(root, 'dist/shoptrail.js'), 'start']
  await import('./dist/shoptrail.js')
}
