/** Case, `_` and `-` do not matter: `addtocart` and `add-to-cart` mean `addToCart`. */
const plain = (name: string) => name.toLowerCase().replace(/[_-]/g, '')

/**
 * The known name that is most similar to a misspelled one. Undefined if no name is similar enough.
 *
 * @param maxDistance The most letters that may differ. At most half of the letters of the known name may.
 */
export function nearest(
  written: string,
  names: readonly string[],
  maxDistance: number,
): string | undefined {
  const [best] = names
    .map((name) => ({ name, letters: distance(plain(written), plain(name)) }))
    .filter(({ name, letters }) => letters <= Math.min(maxDistance, plain(name).length / 2))
    .sort((a, b) => a.letters - b.letters)
  return best?.name
}

/** Letters to insert, delete or replace (Levenshtein distance), one row of the table at a time. */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (const [index, letter] of [...from].entries()) {
    const next = [index + 1]
    for (let at = 0; at < to.length; at++)
      next.push(
        Math.min(
          (row[at + 1] ?? 0) + 1,
          (next[at] ?? 0) + 1,
          (row[at] ?? 0) + (letter === to[at] ? 0 : 1),
        ),
      )
    row = next
  }
  return row[to.length] ?? 0
}
