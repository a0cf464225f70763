/** The most letters that may differ. At most half of them may. */
const MAX_DISTANCE = 4

/** Case, `_` and `-` do not matter: `addtocart` and `add-to-cart` mean `addToCart`. */
const plain = (name: string) => name.toLowerCase().replace(/[_-]/g, '')

/** The name that is most similar to a misspelled one, if any is similar enough. */
export function nearest(written: string, names: readonly string[]): string | undefined {
  const limit = Math.min(MAX_DISTANCE, plain(written).length / 2)
  const [best] = names
    .map((name) => [distance(plain(written), plain(name)), name] as const)
    .filter(([letters]) => letters <= limit)
    .sort(([a], [b]) => a - b)
  return best?.[1]
}

/** Letters to insert, delete or replace (Levenshtein distance), one row of the table at a time. */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (const [index, letter] of [...from].entries()) {
    const next = [index + 1]
    for (const [at, other] of [...to].entries())
      next.push(
        Math.min(
          (row[at + 1] ?? 0) + 1,
          (next[at] ?? 0) + 1,
          (row[at] ?? 0) + (letter === other ? 0 : 1),
        ),
      )
    row = next
  }
  return row[to.length] ?? 0
}
