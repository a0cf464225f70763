import type { TestProject } from 'vitest/node'
import { startNatsCluster } from './natsCluster.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The cluster that all test files of the project share, see sharedCluster.ts. */
    clusterFolder: string
  }
}

/** Starts one cluster for all test files of the project, unless `NATS_TEST_CLUSTER` is the folder of one. */
export default async function setup(project: TestProject) {
  const running = process.env.NATS_TEST_CLUSTER
  if (running) {
    project.provide('clusterFolder', running)
    return
  }
  const cluster = await startNatsCluster()
  project.provide('clusterFolder', cluster.folder)
  return () => cluster.end()
}
