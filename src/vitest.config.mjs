import { defineConfig } from 'vitest/config'

/** The unit tests lie beside their files, below src and public; those of a browser are in e2e. */
export default defineConfig({
  test: {
    dir: '.',
    include: ['{src,public}/**/*.test.{ts,mjs}'],
    globalSetup: 'src/test/buildGateway.ts',
    // Every core: by default one is left free, which of two is half.
    maxWorkers: '100%',
    // Some start a whole gateway, on continuous integration's two slow cores. Nothing waits this
    // long when all is well.
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
})
