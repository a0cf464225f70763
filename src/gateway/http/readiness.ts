/** Time between two checks, ms. */
const CHECK_MS = 1_000

/** Reports each change of readiness. */
export type Readiness = {
  /** Checks now, unless it was stopped. */
  check(): void
  stop(): void
}

/**
 * Checks the readiness once a second, and on `check`.
 *
 * @param findUnready Why it is not ready; undefined if it is.
 * @param onChange Called with each new result. Not called for "ready" at the start, which is expected.
 */
export function watchReadiness(
  findUnready: () => string | undefined,
  onChange: (reason: string | undefined) => void,
): Readiness {
  let reported: string | undefined
  let isStopped = false
  function check(): void {
    if (isStopped) return
    const reason = findUnready()
    if (reason === reported) return
    reported = reason
    onChange(reason)
  }
  const timer = setInterval(check, CHECK_MS)
  timer.unref()
  return {
    check,
    stop() {
      isStopped = true
      clearInterval(timer)
    },
  }
}
