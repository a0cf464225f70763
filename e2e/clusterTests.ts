// The step "cluster" of npm test: starts one cluster of nats-server, and runs the tests that need one.
//
//   node e2e/run.mjs e2e/clusterTests.ts [FILE]
//
// FILE is the path of vitest's report (JSON), E2E_REPORT that of Playwright's. Without them no report is written. Both
// also run alone, and then start a cluster of their own:
//
//   npx vitest run --config src/vitest.config.mjs --project=cluster
//   npx playwright test -c e2e/cluster.config.ts
import { spawn } from 'node:child_process'
import { startNatsCluster } from '../src/test/natsCluster.ts'

const [unitReport] = process.argv.slice(2)
const cluster = await startNatsCluster()
process.env.NATS_TEST_CLUSTER = cluster.folder
try {
  // One after the other: the end-to-end tests kill a node.
  await run([
    ...['node_modules/vitest/vitest.mjs', 'run', '--config=src/vitest.config.mjs'],
    ...['--project=cluster', '--reporter=default'],
    ...(unitReport ? ['--reporter=json', `--outputFile.json=${unitReport}`] : []),
  ])
  await run(['node_modules/@playwright/test/cli.js', 'test', '-c', 'e2e/cluster.config.ts'])
} finally {
  await cluster.end()
}

async function run(args: readonly string[]): Promise<void> {
  const child = spawn(process.execPath, args, { stdio: 'inherit' })
  const status = await new Promise((resolve) => child.once('close', resolve))
  if (status !== 0) process.exitCode = 1
}
