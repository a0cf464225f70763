/** One thing that waits for its time, and for somebody to look: a hidden page asks its gateway nothing. */
export function createLater() {
  let timer = 0
  /** @type {(() => void) | undefined} */
  let due

  document.addEventListener('visibilitychange', run)

  /** What waits is done at once when the page is seen again, its time over or not. */
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
    /** In place of what waits. */
    set(/** @type {() => void} */ act, /** @type {number} */ ms) {
      stop()
      due = act
      timer = setTimeout(run, ms)
    },
    stop,
  }
}
