import { startNatsCluster } from '../src/test/natsCluster.ts'

/** Starts a cluster for the tests, unless `NATS_TEST_CLUSTER` is the folder of one. */
export default async function setup() {
  if (process.env.NATS_TEST_CLUSTER) return
  const cluster = await startNatsCluster()
  // The workers inherit it.
  process.env.NATS_TEST_CLUSTER = cluster.folder
  return () => cluster.end()
}
