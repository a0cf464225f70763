/**
 * The shop's own memory: cart and wishlist in localStorage, under keys of the shop (`saltmarsh.cart`,
 * `saltmarsh.wishlist`). Where storage is blocked or full they live as long as the page.
 *
 * @typedef {{ product: number, variation: string, quantity: number }} Line
 */

function createLines(/** @type {string} */ key) {
  /** @type {Line[]} */
  let memory = []
  const lines = () => {
    try {
      const stored = JSON.parse(localStorage.getItem(key) ?? 'null')
      if (Array.isArray(stored)) memory = stored
    } catch {
      // Blocked, or not ours: what the page knows stands.
    }
    return memory
  }
  const save = (/** @type {Line[]} */ next) => {
    memory = next
    try {
      localStorage.setItem(key, JSON.stringify(next))
    } catch {
      // Full or blocked: the page goes on from memory.
    }
  }
  const is = (/** @type {number} */ product, /** @type {string} */ variation) => (line) =>
    line.product === product && line.variation === variation
  const find = (/** @type {number} */ product, /** @type {string} */ variation) =>
    lines().find(is(product, variation))

  /** Sets a line's quantity; 0 removes it. A line keeps its place. */
  const set = (product, variation, quantity) => {
    const next = { product, variation, quantity }
    const all = lines()
    const index = all.findIndex(is(product, variation))
    if (index < 0) all.push(next)
    else all[index] = next
    save(all.filter((line) => line.quantity > 0))
  }
  return {
    lines,
    set,
    add: (product, variation, quantity = 1) =>
      set(product, variation, (find(product, variation)?.quantity ?? 0) + quantity),
    remove: (product, variation) => set(product, variation, 0),
    has: (product, variation) => find(product, variation) !== undefined,
    count: () => lines().reduce((sum, { quantity }) => sum + quantity, 0),
    clear: () => save([]),
  }
}

export const cart = createLines('saltmarsh.cart')
export const wishlist = createLines('saltmarsh.wishlist')
