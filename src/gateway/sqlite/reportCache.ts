/** What was asked for lately, a bounded number of it. */
export type Cache<Value> = {
  /** The value of a key, found by `find` where it is not there. Undefined is not kept. */
  get(key: string, find: () => Value | undefined): Value | undefined
  clear(): void
}

/** @param most Values that are kept; those not asked for the longest go first. */
export function createCache<Value extends object | number>(most: number): Cache<Value> {
  const values = new Map<string, Value>()
  return {
    get(key, find) {
      let value = values.get(key)
      // At the end again: the first key is the one that was not asked for the longest.
      if (value !== undefined) values.delete(key)
      else value = find()
      if (value === undefined) return undefined
      values.set(key, value)
      if (values.size > most) values.delete(values.keys().next().value as string)
      return value
    },
    clear: () => values.clear(),
  }
}
