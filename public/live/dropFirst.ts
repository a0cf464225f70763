/** Removes what was added first, which a Map and a Set list first. */
export function dropFirst<Key>(things: Map<Key, unknown> | Set<Key>): void {
  for (const key of things.keys()) {
    things.delete(key)
    return
  }
}
