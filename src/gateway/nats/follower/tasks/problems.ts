import { Unavailable } from '../../../lib/unavailable.ts'
import type { PartitionCopy } from '../partitionCopy.ts'
import type { StartTask } from '../task.ts'

/** How long an answer waits for the counts that the gateway has written, ms. */
const REACH_MS = 5_000
const RETRY_SECONDS = 5

/** Reads problems and coverage from the copy of a partition, with what the gateway that asks has written before. */
export const startProblems: StartTask = async ({ copy }) => ({
  answers: {
    async readProblems(customer, fromDay, after) {
      await reach(copy, after)
      return copy.thread.call('readProblems', customer, fromDay)
    },
    async readCoverage(customer, now, after) {
      await reach(copy, after)
      return copy.thread.call('readCoverage', customer, now)
    },
  },
  async stop() {},
})

async function reach(copy: PartitionCopy, sequence: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    const error = new Unavailable('The counts are not copied yet', RETRY_SECONDS)
    timer = setTimeout(reject, REACH_MS, error)
  })
  try {
    await Promise.race([copy.reach(sequence), late])
  } finally {
    clearTimeout(timer)
  }
}
