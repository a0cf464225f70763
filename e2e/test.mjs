// npm test: every check. Needs Node, npm and a compiler, and installs the rest.
// npm run check: format and lint, types, and the fast unit tests. For every change.
//
// All steps run even if one fails; the last line is "N passed, N failed". A step without tests (lint, types, build)
// counts as one test. Before it are the failures, by name.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { findOnPath, installPackages, root } from '../src/build/install.mjs'
import { readEndToEndReport, readUnitReport } from '../src/build/testReports.mjs'

const VITEST = [
  'node_modules/vitest/vitest.mjs',
  'run',
  '--config=src/vitest.config.mjs',
  '--reporter=default',
  '--reporter=json',
]
const FAST = ['--project=page', '--project=node']
const ALL = [...FAST, '--project=slow']

const NO_NATS_SERVER =
  'nats-server is not installed (Debian: apt-get install --no-install-recommends nats-server; others: https://nats.io/download)'
const NO_REPORT = 'There is no report: the run did not start, or did not end. Its output is above'

const isCheck = process.argv.includes('--check')
const total = { passed: 0, failed: 0 }
const summary = []
const failures = []

await test()
for (const { test, error } of failures) console.log(`\n✗ ${test}\n${error.replace(/^/gm, '    ')}`)
console.log(`\n${summary.join('\n')}\n`)
console.log(`${total.passed} passed, ${total.failed} failed`)
process.exit(total.failed ? 1 : 0)

async function test() {
  try {
    installPackages()
  } catch (error) {
    return count('install', failed('install', error.message))
  }
  // Together, since each uses one core for most of its time.
  await Promise.all([
    step('format and lint', [
      'node_modules/@biomejs/biome/bin/biome',
      'check',
      '--error-on-warnings',
    ]),
    step('types', ['node_modules/typescript/bin/tsc', '-b', '--pretty', 'false']),
  ])
  // Before the slow unit tests, which install the built package.
  if (!isCheck) await step('build and size', ['build.mjs'])
  const unit = report('unit')
  await step(
    'unit tests',
    [...VITEST, ...(isCheck ? FAST : ALL), `--outputFile.json=${unit}`],
    () => readUnitReport(unit),
  )
  if (isCheck) return
  await testEndToEnd()
  await testCluster()
}

async function testEndToEnd() {
  const { installBrowsers } = await import('./browsers.mjs')
  const { chromium, firefox, webkit } = await installBrowsers()
  if (!chromium) {
    const error =
      'The end-to-end tests need a Chromium, and it could not be installed. Install one, or set its path:\n' +
      '  Debian           apt-get install --no-install-recommends chromium\n' +
      '  others           npx playwright install --with-deps chromium\n' +
      '  one of your own  CHROMIUM=/path/to/chrome npm test'
    return count('end to end (no Chromium)', failed('end to end', error))
  }
  const e2e = report('e2e')
  const browsers = ['Chromium', ...(firefox ? ['Firefox'] : []), ...(webkit ? ['WebKit'] : [])]
  await step(
    `end to end (${browsers.join(', ')})`,
    ['node_modules/@playwright/test/cli.js', 'test', '-c', 'e2e'],
    () => readEndToEndReport(e2e),
    {
      E2E_REPORT: e2e,
    },
  )
  if (!firefox) notTested('Firefox', 'firefox-esr')
  if (!webkit && !process.env.CI) notTested('WebKit', 'webkit2gtk-driver xvfb xauth')
}

/** The tests against a real cluster of NATS: vitest's project `cluster`, and the demo shop over two gateways. */
async function testCluster() {
  if (!(await installNatsServer())) {
    if (!process.env.CI) return void summary.push(`! NOT TESTED ON A CLUSTER: ${NO_NATS_SERVER}`)
    return count('cluster (no nats-server)', failed('cluster', NO_NATS_SERVER))
  }
  const [unit, e2e] = [report('cluster-unit'), report('cluster-e2e')]
  await step(
    'cluster (nats-server)',
    ['e2e/run.mjs', 'e2e/clusterTests.ts', unit],
    () => {
      const parts = [
        readUnitReport(unit) ?? failed('cluster, unit tests', NO_REPORT),
        readEndToEndReport(e2e) ?? failed('cluster, end to end', NO_REPORT),
      ]
      const sum = (name) => parts.reduce((total, part) => total + part[name], 0)
      return {
        passed: sum('passed'),
        skipped: sum('skipped'),
        failures: parts.flatMap((part) => part.failures),
      }
    },
    { E2E_REPORT: e2e },
  )
}

/** @returns Whether it is there. */
async function installNatsServer() {
  const { canInstallPackages, installDebianPackages } = await import('./debianPackages.mjs')
  if (!findOnPath(['nats-server']) && canInstallPackages()) installDebianPackages(['nats-server'])
  return findOnPath(['nats-server']) !== undefined
}

/** Adds a warning to the summary. */
function notTested(browser, packages) {
  summary.push(
    `! NOT TESTED IN ${browser.toUpperCase()}: it is not installed (Debian: apt-get install --no-install-recommends ${packages})`,
  )
}

/**
 * Runs one step, and prints its output.
 *
 * @param script Path of the script from the root, and its arguments.
 * @param read Reads the results of the step's tests; undefined if there is no report. Without `read`, the step counts
 * as one test.
 */
async function step(name, [script, ...args], read, env = {}) {
  const start = performance.now()
  console.log(`\n── ${name} ──`)
  const child = spawn(process.execPath, [join(root, script), ...args], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...(!process.stdout.isTTY && { NO_COLOR: '1' }), ...env },
  })
  const [code, signal] = await once(child, 'close')
  const good = code === 0
  const counted = read
    ? (read() ?? failed(name, NO_REPORT))
    : { passed: good ? 1 : 0, skipped: 0, failures: [] }
  // The step has no tests, an error was outside of all tests, or no test was found.
  if (!good && counted.failures.length === 0)
    counted.failures.push({
      test: name,
      error: `Ended with ${signal ?? `exit code ${code}`}. The reason is in its output above`,
    })
  count(name, counted, (performance.now() - start) / 1_000)
}

/** The result of a step or a part of it that did not run to its end. */
function failed(test, error) {
  return { passed: 0, skipped: 0, failures: [{ test, error }] }
}

function count(name, { passed, skipped, failures: own }, seconds = 0) {
  failures.push(...own)
  total.passed += passed
  total.failed += own.length
  const numbers = `${passed} passed, ${own.length} failed${skipped ? `, ${skipped} skipped` : ''}`
  summary.push(`${own.length ? '✗' : '✓'} ${name}: ${numbers} (${seconds.toFixed(0)} s)`)
}

/** Path of a step's report. Removes the report of an earlier run, so that it is not read for this one. */
function report(name) {
  const path = join(root, `dist/reports/${name}.json`)
  rmSync(path, { force: true })
  return path
}
