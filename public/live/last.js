/**
 * The last things that came, as many as fit: what strangers send is large or small as they like, so both the
 * number and the length of all together are bounded.
 *
 * @template Thing
 * @param {number} most Things.
 * @param {number} mostLength Of all of them, UTF-16 units. The newest one stays even if it is longer.
 */
export function createLast(most, mostLength) {
  /** @type {{ thing: Thing, length: number }[]} oldest first */
  let kept = []
  /** Of these so many are gone. */
  let gone = 0
  let length = 0

  return {
    /** @returns {number} how many have gone for it. */
    add(/** @type {Thing} */ thing, /** @type {number} */ thingLength) {
      kept.push({ thing, length: thingLength })
      length += thingLength
      const before = gone
      while (kept.length - gone > most || (length > mostLength && kept.length - gone > 1)) {
        length -= kept[gone].length
        kept[gone++] = undefined
      }
      const count = gone - before
      // Now and then, since to take one from the front moves all.
      if (gone > most / 5) {
        kept = kept.slice(gone)
        gone = 0
      }
      return count
    },
    size: () => kept.length - gone,
    /** Oldest first. */
    all: () => kept.slice(gone),
    *newestFirst() {
      for (let i = kept.length - 1; i >= gone; i--) yield kept[i].thing
    },
    clear() {
      kept = []
      gone = 0
      length = 0
    },
  }
}
