/** One delayed action, which waits until the page is visible: a hidden page asks its gateway nothing. */
export type VisibleTimer = {
  /** Replaces the action that waits. It runs after `ms`, or at once when the page becomes visible again. */
  set(act: () => void, ms: number): void
  stop(): void
}

export function createVisibleTimer(): VisibleTimer {
  let timer: ReturnType<typeof setTimeout> | undefined
  let due: (() => void) | undefined

  document.addEventListener('visibilitychange', run)

  function run() {
    if (document.hidden) return
    const act = due
    stop()
    act?.()
  }

  function stop() {
    clearTimeout(timer)
    due = undefined
  }

  return {
    set(act, ms) {
      stop()
      due = act
      timer = setTimeout(run, ms)
    },
    stop,
  }
}
