/** Starts something again that has ended. */
export type Restart = {
  /** To be called each time it has ended, or could not be started. */
  ended(error: Error): void
  /** Starts nothing any more. */
  stop(): void
}

/** How something is started again, and when that is given up. */
export type RestartOptions = {
  /** Starts it; tells of a failure by `ended`. */
  readonly start: () => void
  /** Called instead of `start` after too many tries, with the last error. */
  readonly giveUp?: (error: Error) => void
  /** Tries in a row, counted anew once it has run for `stableMs`. Default: without end. */
  readonly maxTries?: number
  /** Time before the first try, ms; twice as long before each further one, up to `maxMs`. Default 200. */
  readonly baseMs?: number
  /** Default 30,000. */
  readonly maxMs?: number
  /** What has run for so long is not one that ends again and again, ms. Default 60,000. */
  readonly stableMs?: number
}

/** Exponential backoff, for what was running when this is called. */
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
