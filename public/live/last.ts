/**
 * Keeps the newest things. Anyone can send many events or long ones, so both their number and their total length are
 * bounded.
 *
 * @param most The most things that are kept.
 * @param mostLength Their greatest total length, UTF-16 units. The newest one is kept even if it is longer.
 */
export function createLast<Thing>(most: number, mostLength: number) {
  type Kept = { readonly thing: Thing; readonly length: number }
  /** Oldest first; removed things leave undefined at the front. */
  let kept: (Kept | undefined)[] = []
  /** Number of removed things at the front. */
  let gone = 0
  let length = 0

  return {
    /** @returns How many older things were removed. */
    add(thing: Thing, thingLength: number): number {
      kept.push({ thing, length: thingLength })
      length += thingLength
      const before = gone
      while (kept.length - gone > most || (length > mostLength && kept.length - gone > 1)) {
        length -= kept[gone]?.length ?? 0
        kept[gone++] = undefined
      }
      const count = gone - before
      // Only now and then, since removing from the front moves all the others.
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
