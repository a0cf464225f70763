/**
 * The last things that came. Strangers send few or many, short or long, so both the number and the length of all
 * together are bounded.
 *
 * @param most Things.
 * @param mostLength Of all of them, UTF-16 units. The newest one stays even if it is longer.
 */
export function createLast<Thing>(most: number, mostLength: number) {
  type Kept = { readonly thing: Thing; readonly length: number }
  /** Oldest first; undefined where one is gone. */
  let kept: (Kept | undefined)[] = []
  /** Number of those that are gone, all at the front. */
  let gone = 0
  let length = 0

  return {
    /** @returns How many have gone for it. */
    add(thing: Thing, thingLength: number): number {
      kept.push({ thing, length: thingLength })
      length += thingLength
      const before = gone
      while (kept.length - gone > most || (length > mostLength && kept.length - gone > 1)) {
        length -= kept[gone]?.length ?? 0
        kept[gone++] = undefined
      }
      const count = gone - before
      // Only now and then, since taking one from the front moves all the others.
      if (gone > most / 5) {
        kept = kept.slice(gone)
        gone = 0
      }
      return count
    },
    size: (): number => kept.length - gone,
    /** Oldest first. */
    all: (): Kept[] => kept.flatMap((one) => one ?? []),
    *newestFirst(): Generator<Thing> {
      for (let i = kept.length - 1; i >= gone; i--) {
        const one = kept[i]
        if (one) yield one.thing
      }
    },
    clear(): void {
      kept = []
      gone = 0
      length = 0
    },
  }
}
