import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

const tests = (path) => `${path}.test.{ts,mjs}`
const SLOW = 'src/**/*.slow.test.ts'
const LONG = 'src/**/*.long.test.ts'
const CLUSTER = 'src/**/*.cluster.test.ts'
const PAGES = '{src/tracker,public}/**/*'

/**
 * The unit tests are beside their files in src and public. The browser tests are in e2e.
 *
 * `npm run unit` runs all of them but the long ones, `npm run check` also leaves out the slow ones. `npm run long` runs
 * those that take many minutes.
 */
export default defineConfig({
  test: {
    globalSetup: 'src/test/buildGateway.ts',
    // Two a core: tests that wait for a timer or a disk leave it free.
    maxWorkers: 2 * availableParallelism(),
    // Long, for busy machines. A test that passes ends in seconds.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // A condition of a test may hold late on a busy machine. The default is 1 s.
    expect: { poll: { timeout: 30_000 } },
    projects: [
      {
        extends: true,
        test: {
          // Code of pages. Each file has its own globals, in threads that are reused. A process for each file takes
          // twice the time.
          name: 'page',
          include: [tests(PAGES)],
          pool: 'vmThreads',
        },
      },
      {
        extends: true,
        test: {
          // These tests change no globals, so files share processes, which saves half a second for each file.
          name: 'node',
          include: [tests('src/**/*')],
          exclude: [tests(PAGES), SLOW, LONG, CLUSTER],
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          // Tests that kill processes, fill memory or install the package. They take a minute.
          name: 'slow',
          include: [SLOW],
        },
      },
      {
        extends: true,
        test: {
          // Tests against a real cluster of nats-server, which all files share. Files share processes too, as above.
          name: 'cluster',
          include: [CLUSTER],
          globalSetup: ['src/test/startCluster.ts'],
          pool: 'forks',
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          // Proofs by many generated inputs, or in a whole Debian. They take many minutes.
          name: 'long',
          include: [LONG],
          testTimeout: 3_600_000,
          hookTimeout: 3_600_000,
        },
      },
    ],
  },
})
