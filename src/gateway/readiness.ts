/** How often it is looked, ms. */
const LOOK_MS = 1_000

/** Tells of each change of the reason why something is not ready. */
export type Readiness = {
  /** Looks now, unless it was stopped. */
  look(): void
  stop(): void
}

/**
 * Looks once a second, and when it is told to.
 *
 * @param findUnready Why it is not ready; undefined where it is.
 * @param onChange Told of each new answer. A first `undefined` is none: what starts is expected to be ready.
 */
export function watchReadiness(
  findUnready: () => string | undefined,
  onChange: (reason: string | undefined) => void,
): Readiness {
  let told: string | undefined
  let isStopped = false
  function look(): void {
    if (isStopped) return
    const reason = findUnready()
    if (reason === told) return
    told = reason
    onChange(reason)
  }
  const timer = setInterval(look, LOOK_MS)
  timer.unref()
  return {
    look,
    stop() {
      isStopped = true
      clearInterval(timer)
    },
  }
}
