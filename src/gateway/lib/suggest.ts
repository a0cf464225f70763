import { nearest } from '../../contract/nearest.ts'

/** A word that differs by more letters is not a misspelling. */
const MAX_MISTAKES = 2

/**
 * The known word that a misspelled one most likely means.
 *
 * @returns ` Did you mean …?`, for the end of a message. Empty if no word is similar.
 */
export function suggest(typed: string, known: readonly string[]): string {
  const word = nearest(typed, known, MAX_MISTAKES)
  return word ? ` Did you mean ${word}?` : ''
}
