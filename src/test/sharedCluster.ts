import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { inject } from 'vitest'
import { accountOf, type NatsAccount } from './natsCluster.ts'

/** An account of the shared cluster that no other test has. Its nodes must not be killed. */
export function takeAccount(): NatsAccount {
  const { servers, taken } = inject('cluster')
  for (let number = 0; ; number++) {
    try {
      // Test files run in several processes, and only one of them can make a folder.
      mkdirSync(join(taken, `${number}`))
      return accountOf(servers, number)
    } catch (error) {
      if ((error as { code?: string }).code !== 'EEXIST') throw error
    }
  }
}
