import type { Usage } from '../customers/usage.ts'
import type { Call } from './remote.ts'
import type { Store } from './store.ts'

/** How often it is looked what other processes have stored, ms. */
const LOOK_MS = 1_000

/** Tells what customers have stored on a day, by whichever process. */
export type UsageWatch = {
  /** See EventLog.watchUsage. */
  start(listener: (usages: readonly Usage[]) => void): Promise<void>
  /** Tells the sums that an append answered. */
  report(usages: readonly Usage[]): void
  /** An append failed: what it stored, if anything, is told after the next look. */
  doubt(): void
  stop(): void
}

export function createUsageWatch(call: Call<Store>): UsageWatch {
  let listener: (usages: readonly Usage[]) => void = () => {}
  let timer: NodeJS.Timeout | undefined
  /** Of the file when all sums were read; undefined where they have to be read again. */
  let version: unknown
  let isLooking = false

  async function look(): Promise<void> {
    // The version first: what is stored between the two questions is read by this look, and by the next again.
    const seen = await call('version')
    if (seen === version) return
    listener(await call('usage'))
    version = seen
  }

  return {
    async start(onUsage) {
      listener = onUsage
      await look()
      timer = setInterval(() => {
        if (isLooking) return
        isLooking = true
        look()
          // While the thread can not be asked, nothing is stored either. The next look may find it mended.
          .catch(() => {
            version = undefined
          })
          .finally(() => {
            isLooking = false
          })
      }, LOOK_MS)
    },
    report: (usages) => listener(usages),
    doubt() {
      version = undefined
    },
    stop: () => clearInterval(timer),
  }
}
