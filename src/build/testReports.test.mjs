import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { root } from './install.mjs'
import { readEndToEndReport, readUnitReport } from './testReports.mjs'

// In the project, so that the tests find their library.
mkdirSync(join(root, 'dist'), { recursive: true })
const folder = mkdtempSync(join(root, 'dist/testReports-'))
afterAll(() => rmSync(folder, { recursive: true }))

const write = (name, text) => writeFileSync(join(folder, name), text)
const name = (file) => join('dist', folder.slice(join(root, 'dist/').length), file)

/** Runs the real library, whose tests fail. */
async function runTests(args) {
  const child = spawn(process.execPath, args, { cwd: folder, stdio: 'ignore' })
  expect(await new Promise((resolve) => child.once('close', resolve))).toBe(1)
}

test('the failures of unit tests have their names and errors', async () => {
  write(
    'some.check.js',
    `import { describe, expect, test } from 'vitest'
     test('holds', () => expect(1).toBe(1))
     describe('sums', () => test('are right', () => expect(1 + 1).toBe(3)))`,
  )
  write('broken.check.js', `throw new Error('not loadable')`)
  write(
    'ending.check.js',
    `import { afterAll, expect, test } from 'vitest'
     afterAll(() => { throw new Error('not stopped') })
     test('is wrong', () => expect(1).toBe(2))`,
  )
  write('vitest.config.mjs', `export default { test: { include: ['*.check.js'] } }`)
  const report = join(folder, 'unit.json')
  await runTests([
    join(root, 'node_modules/vitest/vitest.mjs'),
    ...['run', '--reporter=json', `--outputFile=${report}`],
  ])

  const { failures, ...numbers } = readUnitReport(report)
  expect(numbers).toEqual({ passed: 1, skipped: 0 })
  expect(failures.toSorted((a, b) => a.test.localeCompare(b.test))).toEqual([
    { test: name('broken.check.js'), error: expect.stringContaining('not loadable') },
    { test: name('ending.check.js'), error: expect.stringContaining('not stopped') },
    {
      test: `${name('ending.check.js')} > is wrong`,
      error: expect.stringContaining('expected 1 to be 2'),
    },
    {
      test: `${name('some.check.js')} > sums are right`,
      error: expect.stringContaining('expected 2 to be 3'),
    },
  ])
})

test('the failures of end-to-end tests have their names and errors', async () => {
  write(
    'some.e2e.js',
    `import { expect, test } from '@playwright/test'
     test('holds', () => expect(1).toBe(1))
     test.describe('sums', () => {
       test('are right', () => expect(1 + 1).toBe(3))
     })`,
  )
  write(
    'playwright.config.mjs',
    // Without outputDir Playwright writes to test-results in the project, whose files fail the check of the format.
    `export default {
       testMatch: '*.e2e.js', projects: [{ name: 'none' }], outputDir: 'results',
       reporter: [['json', { outputFile: 'e2e.json' }]],
     }`,
  )
  const run = [join(root, 'node_modules/@playwright/test/cli.js'), 'test']
  const report = join(folder, 'e2e.json')
  await runTests(run)
  expect(readEndToEndReport(report)).toEqual({
    ...{ passed: 1, skipped: 0 },
    failures: [
      {
        test: `${name('some.e2e.js')}:4 > are right (none)`,
        error: expect.stringMatching(/Expected: 3\nReceived: 2/),
      },
    ],
  })

  // Then no test runs.
  write('broken.e2e.js', `throw new Error('not loadable')`)
  await runTests(run)
  expect(readEndToEndReport(report)).toEqual({
    ...{ passed: 0, skipped: 0 },
    failures: [{ test: 'outside of all tests', error: expect.stringContaining('not loadable') }],
  })
})

test('a run without a report has no numbers', () => {
  const missing = join(folder, 'missing.json')
  expect(readUnitReport(missing)).toBeUndefined()
  expect(readEndToEndReport(missing)).toBeUndefined()
})
