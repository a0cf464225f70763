import { inject } from 'vitest'
import { joinNatsCluster, type NatsAccount } from './natsCluster.ts'

/** An account of the shared cluster that no other test has. Its nodes must not be killed. */
export const takeAccount = (): NatsAccount => joinNatsCluster(inject('clusterFolder')).takeAccount()
