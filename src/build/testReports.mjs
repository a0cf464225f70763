import { existsSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { root } from './install.mjs'

// Reads the JSON reports of vitest and Playwright: the numbers of tests that passed and were skipped, and each failure by
// its name. The reports' own number of failed tests is not used, since it leaves out errors outside of tests.

/** Lines of an error that are repeated. */
const MAX_LINES = 12

/**
 * @param path Path of a report of vitest.
 * @returns Undefined if there is none: the run did not start, or did not end.
 */
export function readUnitReport(path) {
  if (!existsSync(path)) return
  const report = readJson(path)
  const failures = report.testResults.flatMap(({ name, status, message, assertionResults }) => {
    const file = relative(root, name)
    const failed = assertionResults
      .filter((one) => one.status === 'failed')
      .map(({ fullName, failureMessages }) => ({
        test: `${file} > ${fullName}`,
        error: shorten(failureMessages.join('\n')),
      }))
    // The file could not be loaded, or what runs before or after its tests failed.
    const isOutside = message !== '' || (status === 'failed' && failed.length === 0)
    return isOutside ? [...failed, { test: file, error: shorten(message) }] : failed
  })
  return {
    passed: report.numPassedTests,
    skipped: report.numPendingTests + report.numTodoTests,
    failures,
  }
}

/**
 * @param path Path of a report of Playwright.
 * @returns Undefined if there is none: the run did not start, or did not end.
 */
export function readEndToEndReport(path) {
  if (!existsSync(path)) return
  const { config, stats, suites, errors } = readJson(path)
  return {
    ...{ passed: stats.expected + stats.flaky, skipped: stats.skipped },
    failures: [
      ...errors.map(({ message }) => ({ test: 'outside of all tests', error: shorten(message) })),
      ...suites.flatMap((suite) => failuresOf(suite, config.rootDir)),
    ],
  }
}

/** @param folder That of the paths in the report. */
function failuresOf({ specs = [], suites = [] }, folder) {
  const failed = specs.flatMap(({ file, line, title, tests }) =>
    tests
      .filter(({ status }) => status === 'unexpected')
      .map(({ projectName, results }) => ({
        test: `${relative(root, join(folder, file))}:${line} > ${title} (${projectName})`,
        error: shorten(results.flatMap((one) => one.errors.map((e) => e.message)).join('\n')),
      })),
  )
  return [...failed, ...suites.flatMap((suite) => failuresOf(suite, folder))]
}

/** The first lines, without colours. */
function shorten(text) {
  const lines = stripVTControlCharacters(text ?? '')
    .split('\n')
    .filter((line) => line.trim() !== '')
  return [...lines.slice(0, MAX_LINES), ...(lines.length > MAX_LINES ? ['…'] : [])].join('\n')
}

const readJson = (path) => JSON.parse(readFileSync(path, 'utf8'))
