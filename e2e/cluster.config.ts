import { defineConfig } from '@playwright/test'
import config from './playwright.config.ts'

/**
 * Tests of two gateways on a cluster of NATS. `npm test` runs them in a step of their own, since they need nats-server.
 * The cluster is the one of `NATS_TEST_CLUSTER`, or else starts with the tests.
 */
export default defineConfig({
  ...config,
  testMatch: '**/*.cluster.ts',
  // They share one cluster and two gateways, and one of them kills a node.
  workers: 1,
  globalSetup: './clusterSetup.ts',
  projects: (config.projects ?? []).filter(({ name }) => name === 'chromium'),
})
