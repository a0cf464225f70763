type Callback = (lock: { readonly name: string } | null) => unknown

/**
 * The part of the Web Locks API that the script uses, for the tabs of one origin in one process. A lock is held until
 * its callback's promise settles. While it is held, other requests with `ifAvailable` get null. As in a browser, the
 * callback is not called during the request.
 *
 * @returns `openTab` opens a tab, whose `close` releases its locks. `isHeld` returns whether a lock is held.
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
