import type { NatsAccount } from '../../src/test/natsCluster.ts'

/** The settings of a gateway or follower on a cluster. */
export const clusterEnv = ({ servers, user, password }: NatsAccount) => ({
  ENGINE: `nats://${servers.join(',')}`,
  NATS_USER: user,
  NATS_PASSWORD: password,
})
