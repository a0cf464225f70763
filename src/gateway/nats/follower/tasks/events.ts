import type { Usage } from '../../../customers/usage.ts'
import { usageSubject } from '../../names.ts'
import { encodeUsage } from '../../usageMessage.ts'
import type { StartTask } from '../task.ts'

/** Time between two messages with usages, ms. */
const PUBLISH_MS = 1_000
/** Usages in one message, at most: some 100 kB. */
const MAX_USAGES = 1_000

/**
 * Answers which ids are stored and how much customers have stored, and publishes what customers have stored, for the
 * quotas of all gateways.
 */
export const startEvents: StartTask = async ({ broker, copy, isHeld }) => {
  const { thread, partition } = copy
  /** By customer, day and sender, what has changed since the last message. */
  const changed = new Map<string, Usage>()
  /** Position of the last message. */
  let reported = 0

  function publish(): void {
    if (changed.size === 0 || !isHeld() || broker.nc.isClosed()) return
    const usages = [...changed.values()]
    changed.clear()
    for (let i = 0; i < usages.length; i += MAX_USAGES) {
      // The last message completes the sums of the new position.
      if (i + MAX_USAGES >= usages.length) reported = copy.position()
      const report = { position: reported, usages: usages.slice(i, i + MAX_USAGES) }
      broker.nc.publish(usageSubject(partition), encodeUsage(report))
    }
  }

  function change(usages: readonly Usage[]): void {
    for (const usage of usages)
      changed.set(`${usage.day} ${usage.isServer} ${usage.customer}`, usage)
  }

  const unwatch = copy.watchUsage(change)
  change(await thread.call('usage'))
  publish()
  const timer = setInterval(publish, PUBLISH_MS)

  return {
    answers: {
      has: (customer, ids) => thread.call('has', customer, ids),
      async usage() {
        const usages = await thread.call('usage')
        // The thread answers in order: no later change is in the sums, and none before is missing.
        return { position: copy.position(), usages }
      },
    },
    async stop() {
      clearInterval(timer)
      unwatch()
    },
  }
}
