import { Unavailable } from '../../lib/unavailable.ts'

/** The answer to a question that may take long. If it is not done, ask the same again. */
export type LongAnswer<Value> =
  | { readonly isDone: false }
  | { readonly isDone: true; readonly value: Value }

/** Work that takes longer than a question may. */
export type Jobs = {
  /**
   * Starts a job, or waits for the one that runs. Its result is returned once.
   *
   * @param key The same for the same question.
   */
  run<Value>(key: string, start: () => Promise<Value>): Promise<LongAnswer<Value>>
  /** Resolves when no job runs any more. New ones are refused. */
  close(): Promise<void>
}

/** How long an answer waits for the end of a job, ms: well below the time-out of a question. */
const WAIT_MS = 3_000
/** How long a result waits to be asked for, ms. */
const KEEP_MS = 60_000
/** The most jobs, with those whose result nobody has asked for. */
export const MAX_JOBS = 20
/** Retry-After, seconds. */
const RETRY_SECONDS = 10

export function createJobs(): Jobs {
  const jobs = new Map<string, Promise<unknown>>()
  const timers = new Set<NodeJS.Timeout>()
  let isClosed = false

  function begin<Value>(key: string, start: () => Promise<Value>): Promise<Value> {
    if (isClosed) throw new Unavailable('The follower is stopping', RETRY_SECONDS)
    if (jobs.size >= MAX_JOBS)
      throw new Unavailable('Too many searches for persons run at once', RETRY_SECONDS)
    const job = start()
    jobs.set(key, job)
    const forgetLater = () => {
      const timer = setTimeout(() => {
        timers.delete(timer)
        if (jobs.get(key) === job) jobs.delete(key)
      }, KEEP_MS)
      timers.add(timer)
    }
    job.then(forgetLater, forgetLater)
    return job
  }

  return {
    async run<Value>(key: string, start: () => Promise<Value>): Promise<LongAnswer<Value>> {
      const job = (jobs.get(key) as Promise<Value> | undefined) ?? begin(key, start)
      let timer: NodeJS.Timeout | undefined
      const late = new Promise<LongAnswer<Value>>((resolve) => {
        timer = setTimeout(() => resolve({ isDone: false }), WAIT_MS)
      })
      const done = job.then((value): LongAnswer<Value> => ({ isDone: true, value }))
      try {
        const answer = await Promise.race([done, late])
        if (answer.isDone && jobs.get(key) === job) jobs.delete(key)
        return answer
      } catch (error) {
        if (jobs.get(key) === job) jobs.delete(key)
        throw error
      } finally {
        clearTimeout(timer)
      }
    },
    async close() {
      isClosed = true
      await Promise.allSettled(jobs.values())
      for (const timer of timers) clearTimeout(timer)
    },
  }
}
