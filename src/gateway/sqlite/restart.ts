/** Restarts a thread that has ended. */
export type Restart = {
  /** Call it each time the thread has ended or has failed to start. */
  ended(error: Error): void
  /** Cancels a pending restart. */
  stop(): void
}

/** How a thread is restarted, and when to give up. */
export type RestartOptions = {
  /** Starts the thread. Reports a failure by calling `ended`. */
  readonly start: () => void
  /** Called instead of `start` after too many tries, with the last error. */
  readonly giveUp?: (error: Error) => void
  /** Restarts in a row. The count starts again at 0 once it has run for `stableMs`. Default: no limit. */
  readonly maxTries?: number
  /** Delay before the first restart, ms. It doubles with each further one, up to `maxMs`. Default 200. */
  readonly baseMs?: number
  /** Default 30,000. */
  readonly maxMs?: number
  /** Run time after which it counts as stable, ms. Default 60,000. */
  readonly stableMs?: number
}

/** Restarts with exponential backoff. Call it while the thread is running. */
export function createRestart(options: RestartOptions): Restart {
  const { start, giveUp = () => {}, maxTries = Number.POSITIVE_INFINITY } = options
  const { baseMs = 200, maxMs = 30_000, stableMs = 60_000 } = options
  let startedAt = performance.now()
  let tries = 0
  let timer: NodeJS.Timeout | undefined

  return {
    ended(error) {
      clearTimeout(timer)
      if (performance.now() - startedAt >= stableMs) tries = 0
      if (tries >= maxTries) return giveUp(error)
      timer = setTimeout(
        () => {
          startedAt = performance.now()
          start()
        },
        Math.min(maxMs, baseMs * 2 ** tries),
      )
      tries++
    },
    stop: () => clearTimeout(timer),
  }
}
