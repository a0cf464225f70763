import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { startNatsCluster } from './natsCluster.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The cluster that all test files of the project share, see sharedCluster.ts. */
    cluster: { readonly servers: readonly string[]; readonly taken: string }
  }
}

/** Starts one cluster for all test files of the project. */
export default async function setup(project: TestProject) {
  const cluster = await startNatsCluster()
  const taken = mkdtempSync(join(tmpdir(), 'shoptrail-accounts-'))
  project.provide('cluster', { servers: cluster.servers, taken })
  return async () => {
    await cluster.end()
    rmSync(taken, { recursive: true, force: true })
  }
}
