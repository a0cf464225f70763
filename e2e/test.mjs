// npm test: every check, on a machine that has Node, npm and a compiler. Installs what is missing.
// All steps run even when one fails; the last line is "N passed, N failed". A step without tests of
// its own (lint, types, build) counts as one.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { installPackages, root } from '../src/build/install.mjs'

const VITEST = [
  'node_modules/vitest/vitest.mjs',
  'run',
  '--config=src/vitest.config.mjs',
  '--reporter=default',
  '--reporter=json',
]

const total = { passed: 0, failed: 0 }
const summary = []

await test()
console.log(`\n${summary.join('\n')}\n`)
console.log(`${total.passed} passed, ${total.failed} failed`)
process.exit(total.failed ? 1 : 0)

async function test() {
  try {
    installPackages()
  } catch (error) {
    console.error(error.message)
    return count('install', { passed: 0, failed: 1 })
  }
  step('format and lint', ['node_modules/@biomejs/biome/bin/biome', 'check', '--error-on-warnings'])
  step('types', ['node_modules/typescript/bin/tsc', '-b', '--pretty', 'false'])
  // Before the unit tests: some start the gateway as it ships.
  step('build and size', ['build.mjs', '--sizes'])
  const unit = report('unit')
  step('unit tests', [...VITEST, `--outputFile.json=${unit}`], () => countUnit(unit))
  await testEndToEnd()
}

async function testEndToEnd() {
  const { installBrowsers } = await import('./browsers.mjs')
  const { chromium, firefox } = await installBrowsers()
  if (!chromium) {
    console.error(
      '\nThe end-to-end tests need a Chromium, and none can be had here. Install one, or say where it is:\n' +
        '  Debian           apt-get install --no-install-recommends chromium\n' +
        '  others           npx playwright install --with-deps chromium\n' +
        '  one of your own  CHROMIUM=/path/to/chrome npm test',
    )
    return count('end to end (no Chromium)', { passed: 0, failed: 1 })
  }
  const e2e = report('e2e')
  const name = `end to end (Chromium${firefox ? ', Firefox' : '; no Firefox is installed: not tested in it'})`
  step(
    name,
    ['node_modules/@playwright/test/cli.js', 'test', '-c', 'e2e'],
    () => countEndToEnd(e2e),
    {
      E2E_REPORT: e2e,
    },
  )
}

/**
 * Runs one step, with its output on ours.
 *
 * @param script Path from the root of the script to run, and its arguments.
 * @param read Reads what the step's tests came to; without it the step is one test. Answers nothing
 * when there is no report.
 */
function step(name, [script, ...args], read, env = {}) {
  console.log(`\n── ${name} ──`)
  const { status } = spawnSync(process.execPath, [join(root, script), ...args], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...(!process.stdout.isTTY && { NO_COLOR: '1' }), ...env },
  })
  const good = status === 0
  const counted = read?.() ?? { passed: good && !read ? 1 : 0, failed: 0 }
  // A file that can not be loaded, an error outside of every test, no test at all.
  if (!good && !counted.failed) counted.failed = 1
  count(name, counted)
}

function count(name, { passed, failed, skipped = 0 }) {
  total.passed += passed
  total.failed += failed
  const numbers = `${passed} passed, ${failed} failed${skipped ? `, ${skipped} skipped` : ''}`
  summary.push(`${failed ? '✗' : '✓'} ${name}: ${numbers}`)
}

function countUnit(path) {
  if (!existsSync(path)) return
  const { numPassedTests, numFailedTests, numPendingTests, numTodoTests } = readJson(path)
  return { passed: numPassedTests, failed: numFailedTests, skipped: numPendingTests + numTodoTests }
}

function countEndToEnd(path) {
  if (!existsSync(path)) return
  const { expected, flaky, unexpected, skipped } = readJson(path).stats
  return { passed: expected + flaky, failed: unexpected, skipped }
}

/** Where a step leaves its report; an old one is removed, lest it be taken for this run's. */
function report(name) {
  const path = join(root, `dist/reports/${name}.json`)
  rmSync(path, { force: true })
  return path
}

function readJson(path) {
  return JSON.parse(readFileSync(path, 'utf8'))
}
