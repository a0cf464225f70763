/**
 * Lengths count code points, not UTF-16 units: an emoji is one character.
 */

/** Whether a text has more characters than so many. It reads no more of the text than that. */
export function isLongerThan(text: string, maxCharacters: number): boolean {
  let count = 0
  if (text.length > maxCharacters) for (const _ of text) if (++count > maxCharacters) return true
  return false
}

/** Characters of a text. It reads all of it: 5 ms for half a million. */
export function lengthOf(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}
