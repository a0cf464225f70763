/** One delayed action. It waits until the page is visible, so that a hidden page sends no requests. */
export type VisibleTimer = {
  /** Sets the action, in place of one that still waits. It runs after `ms`, or when a hidden page becomes visible. */
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
