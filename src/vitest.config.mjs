import { defineConfig } from 'vitest/config'

const tests = (path) => `${path}.test.{ts,mjs}`
const SLOW = 'src/**/*.slow.test.ts'
const PAGES = '{src/tracker,public}/**/*'

/**
 * The unit tests are beside their files in src and public. The browser tests are in e2e.
 *
 * `npm run unit` runs all of them, `npm run check` all but the slow ones.
 */
export default defineConfig({
  test: {
    globalSetup: 'src/test/buildGateway.ts',
    // All cores. By default one is left free, which is half of two.
    maxWorkers: '100%',
    // For machines whose cores are all busy. A test that passes ends in seconds.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: {
          // Code of pages. Each file has globals of its own, in threads that are used again: a process
          // for each file takes twice the time.
          name: 'page',
          include: [tests(PAGES)],
          pool: 'vmThreads',
        },
      },
      {
        extends: true,
        test: {
          // Nothing here changes globals, so files share their processes, which saves half a second a file.
          name: 'node',
          include: [tests('src/**/*')],
          exclude: [tests(PAGES), SLOW],
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          // What kills processes, fills memory or installs the package. Takes a minute.
          name: 'slow',
          include: [SLOW],
        },
      },
    ],
  },
})
