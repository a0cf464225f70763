/**
 * A Storage like that of browsers: `Object.keys` lists the stored names and no methods. Two pages of one origin share
 * one.
 *
 * @param maxCharacters The most characters of names and values together. Above it `setItem` throws. Default: no limit.
 */
export function createMemoryStorage(maxCharacters = Number.POSITIVE_INFINITY): Storage {
  const values = new Map<string, string>()
  const used = () => [...values].reduce((sum, [name, value]) => sum + name.length + value.length, 0)
  const calls: Storage = {
    get length() {
      return values.size
    },
    key: (index) => [...values.keys()][index] ?? null,
    getItem: (name) => values.get(name) ?? null,
    setItem(name, value) {
      const before = name.length + (values.get(name)?.length ?? -name.length)
      if (used() - before + name.length + `${value}`.length > maxCharacters)
        throw new DOMException('The quota has been exceeded', 'QuotaExceededError')
      values.set(name, `${value}`)
    },
    removeItem: (name) => void values.delete(name),
    clear: () => values.clear(),
  }
  return new Proxy(calls, {
    ownKeys: () => [...values.keys()],
    getOwnPropertyDescriptor: (_, name) =>
      values.has(`${String(name)}`)
        ? { value: values.get(`${String(name)}`), enumerable: true, configurable: true }
        : undefined,
  })
}
