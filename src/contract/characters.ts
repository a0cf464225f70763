/**
 * Lengths count code points, not UTF-16 units: an emoji is one character.
 */

/** Whether a text has more characters than so many. It reads no more of the text than that. */
export const isLongerThan = (text: string, maxCharacters: number): boolean =>
  text.length > maxCharacters && [...text.slice(0, 2 * maxCharacters + 2)].length > maxCharacters

/** Characters of a text. By its units, since to read half a million characters one by one takes five times as long. */
export function lengthOf(text: string): number {
  let pairs = 0
  for (let at = 1; at < text.length; at++)
    if (isHalf(text, at - 1, FIRST_HALF) && isHalf(text, at, SECOND_HALF)) pairs++
  return text.length - pairs
}

const FIRST_HALF = 0xd800
const SECOND_HALF = 0xdc00
const isHalf = (text: string, at: number, half: number): boolean =>
  (text.charCodeAt(at) & 0xfc00) === half
