/**
 * The shop's cart and wishlist, in localStorage (`saltmarsh.cart`, `saltmarsh.wishlist`). If storage is blocked or
 * full, they last as long as the page.
 */
export type StoredLine = {
  readonly product: number
  readonly variation: string
  readonly quantity: number
}

function createLines(key: string) {
  let memory: readonly StoredLine[] = []

  function lines(): readonly StoredLine[] {
    try {
      const stored = JSON.parse(localStorage.getItem(key) ?? 'null')
      if (Array.isArray(stored)) memory = stored
    } catch {
      // Storage is blocked, or its text is not JSON: the page uses its memory.
    }
    return memory
  }

  function save(next: readonly StoredLine[]): void {
    memory = next
    try {
      localStorage.setItem(key, JSON.stringify(next))
    } catch {
      // Storage is full or blocked: the page uses its memory.
    }
  }

  const is = (product: number, variation: string) => (line: StoredLine) =>
    line.product === product && line.variation === variation
  const find = (product: number, variation: string) => lines().find(is(product, variation))

  /** Sets a line's quantity; 0 removes it. A line keeps its position. */
  function set(product: number, variation: string, quantity: number): void {
    const next = { product, variation, quantity }
    const all = [...lines()]
    const index = all.findIndex(is(product, variation))
    if (index < 0) all.push(next)
    else all[index] = next
    save(all.filter((line) => line.quantity > 0))
  }

  return {
    lines,
    set,
    add: (product: number, variation: string, quantity = 1) =>
      set(product, variation, (find(product, variation)?.quantity ?? 0) + quantity),
    remove: (product: number, variation: string) => set(product, variation, 0),
    has: (product: number, variation: string) => find(product, variation) !== undefined,
    count: () => lines().reduce((sum, { quantity }) => sum + quantity, 0),
    clear: () => save([]),
  }
}

export const cart = createLines('saltmarsh.cart')
export const wishlist = createLines('saltmarsh.wishlist')
