type Callback = (lock: { readonly name: string } | null) => unknown

/**
 * The part of the Web Locks API that the script uses, for the tabs of one origin in one process: a lock
 * is held until its callback's promise settles, and `ifAvailable` answers null to everybody else. As in
 * a browser, the callback runs in a later task than the request.
 *
 * @returns `openTab`, whose `close` gives back what that tab held; and whether a lock is held.
 */
export function createLocks() {
  const held = new Map<string, object>()

  /** `navigator.locks` of one tab. */
  function openTab() {
    const mine = new Set<string>()
    return {
      async request(name: string, _options: { ifAvailable: true }, callback: Callback) {
        await Promise.resolve()
        if (held.has(name)) return callback(null)
        const lock = { name }
        held.set(name, lock)
        mine.add(name)
        try {
          return await callback(lock)
        } finally {
          if (held.get(name) === lock) held.delete(name)
          mine.delete(name)
        }
      },
      /** The tab is closed or has crashed. */
      close() {
        for (const name of mine) held.delete(name)
      },
    }
  }
  return { openTab, isHeld: (name: string) => held.has(name) }
}
