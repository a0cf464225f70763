import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** Absolute path of the folder with the gateway's bundles. */
    gatewayBundles: string
  }
}

const root = fileURLToPath(new URL('../..', import.meta.url))

/** The version that these bundles report. */
const VERSION = '1.2.3'

/**
 * Bundles the gateway's command and workers once for all test files. Threads and processes need files of JavaScript,
 * because Node 20 does not run TypeScript. The folder is below dist, so that Node finds the packages.
 */
export default async function setup(project: TestProject) {
  mkdirSync(join(root, 'dist'), { recursive: true })
  const folder = mkdtempSync(join(root, 'dist/test-'))
  const bundle = () =>
    build({
      absWorkingDir: root,
      entryPoints: {
        shoptrail: 'src/gateway/shoptrail.ts',
        'sqlite-worker': 'src/gateway/sqlite/worker.ts',
        'report-worker': 'src/gateway/sqlite/reportWorker.ts',
        'person-worker': 'src/gateway/sqlite/personWorker.ts',
        'doctor-probe': 'src/gateway/doctor/probe.ts',
        'forward-worker': 'src/gateway/sqlite/forwardWorker.ts',
        'derived-worker': 'src/gateway/sqlite/derivedWorker.ts',
      },
      outdir: folder,
      bundle: true,
      format: 'esm',
      platform: 'node',
      target: 'node20',
      packages: 'external',
      logLevel: 'error',
      define: { __version__: JSON.stringify(VERSION) },
    })
  await bundle()
  project.onTestsRerun(async () => void (await bundle()))
  project.provide('gatewayBundles', folder)
  return () => rmSync(folder, { recursive: true, force: true })
}
