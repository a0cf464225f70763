// npm run soak: builds, then runs everything that takes minutes, until something fails. The options are those of the
// last run, e2e/gatewaySoak/run.ts. With "--engine nats" only that one runs, since the others need no cluster.
import { spawnSync } from 'node:child_process'
import { root } from '../src/build/install.mjs'

const args = process.argv.slice(2)
const isOnCluster = /--engine[ =]nats/.test(args.join(' '))
const PAGES = [
  [
    'node_modules/@playwright/test/cli.js',
    'test',
    '-c',
    'e2e/soak.config.ts',
    '--project=chromium',
  ],
  ['e2e/run.mjs', 'e2e/soak.ts'],
]
const runs = [
  ['build.mjs'],
  ...(isOnCluster ? [] : PAGES),
  ['e2e/run.mjs', 'e2e/gatewaySoak/run.ts', ...args],
]
for (const run of runs) {
  const { status } = spawnSync(process.execPath, run, { cwd: root, stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}
