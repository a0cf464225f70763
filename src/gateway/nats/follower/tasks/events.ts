import type { Usage } from '../../../customers/usage.ts'
import { usageSubject } from '../../names.ts'
import { encodeUsages } from '../../usageMessage.ts'
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
  /** By customer and day, what has changed since the last message. */
  const changed = new Map<string, Usage>()

  function publish(): void {
    if (changed.size === 0 || !isHeld() || broker.nc.isClosed()) return
    const usages = [...changed.values()]
    changed.clear()
    for (let i = 0; i < usages.length; i += MAX_USAGES)
      broker.nc.publish(usageSubject(partition), encodeUsages(usages.slice(i, i + MAX_USAGES)))
  }

  const unwatch = copy.watchUsage((usages) => {
    for (const usage of usages) changed.set(`${usage.day} ${usage.customer}`, usage)
  })
  for (const usage of await thread.call('usage'))
    changed.set(`${usage.day} ${usage.customer}`, usage)
  publish()
  const timer = setInterval(publish, PUBLISH_MS)

  return {
    answers: {
      has: (customer, ids) => thread.call('has', customer, ids),
      usage: () => thread.call('usage'),
    },
    async stop() {
      clearInterval(timer)
      unwatch()
    },
  }
}
