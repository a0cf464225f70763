import { defineConfig } from 'vitest/config'

/** The unit tests lie beside their files, all below src; those of a browser are in e2e. */
export default defineConfig({
  test: {
    dir: 'src',
    include: ['**/*.test.{ts,mjs}'],
    // Some start a whole gateway, on continuous integration's two slow cores. Nothing waits this
    // long when all is well.
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
})
