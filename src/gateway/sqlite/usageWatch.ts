import type { Usage } from '../customers/usage.ts'
import type { Call } from './remote.ts'
import type { Store } from './store.ts'

/** Time between two checks for events of other processes, ms. */
const CHECK_MS = 1_000

/** Reports how much customers have stored on a day, by this process and others. */
export type UsageWatch = {
  /** See EventLog.watchUsage. */
  start(listener: (usages: readonly Usage[]) => void): Promise<void>
  /** Reports the sums that an append has returned. */
  report(usages: readonly Usage[]): void
  /** Call it after an append has failed. If it has stored something, the next check reports it. */
  doubt(): void
  stop(): void
}

export function createUsageWatch(call: Call<Store>): UsageWatch {
  let listener: (usages: readonly Usage[]) => void = () => {}
  let timer: NodeJS.Timeout | undefined
  /** Version of the file when all sums were read. Undefined if they must be read again. */
  let version: unknown
  let isChecking = false

  async function check(): Promise<void> {
    // The version is read first. Events that are stored between the two calls are counted now, and the next check reads
    // the sums again.
    const seen = await call('version')
    if (seen === version) return
    listener(await call('usage'))
    version = seen
  }

  return {
    async start(onUsage) {
      listener = onUsage
      await check()
      timer = setInterval(() => {
        if (isChecking) return
        isChecking = true
        check()
          // While the thread is down nothing is stored either. The next check may succeed.
          .catch(() => {
            version = undefined
          })
          .finally(() => {
            isChecking = false
          })
      }, CHECK_MS)
    },
    report: (usages) => listener(usages),
    doubt() {
      version = undefined
    },
    stop: () => clearInterval(timer),
  }
}
