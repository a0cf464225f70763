/** A word that differs by more letters is not a misspelling. */
const MAX_MISTAKES = 2

/**
 * The known word that a misspelled one most likely means.
 *
 * @returns ` Did you mean …?`, for the end of a message. Empty if no word is similar.
 */
export function suggest(typed: string, known: readonly string[]): string {
  const [nearest] = known
    .map((word) => ({ word, mistakes: distance(typed, word) }))
    .filter(({ word, mistakes }) => mistakes <= Math.min(MAX_MISTAKES, word.length / 2))
    .sort((a, b) => a.mistakes - b.mistakes)
  return nearest ? ` Did you mean ${nearest.word}?` : ''
}

/** Letters to add, remove or change to turn one word into the other (Levenshtein). */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, i) => i)
  for (const [i, letter] of [...from].entries()) {
    const next = [i + 1]
    for (let j = 0; j < to.length; j++)
      next.push(
        Math.min(
          (row[j + 1] ?? 0) + 1,
          (next[j] ?? 0) + 1,
          (row[j] ?? 0) + (letter === to[j] ? 0 : 1),
        ),
      )
    row = next
  }
  return row.at(-1) ?? 0
}
