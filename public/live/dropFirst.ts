/** Removes the oldest entry: a Map and a Set list their entries in the order of insertion. */
export function dropFirst<Key>(things: Map<Key, unknown> | Set<Key>): void {
  for (const key of things.keys()) {
    things.delete(key)
    return
  }
}
