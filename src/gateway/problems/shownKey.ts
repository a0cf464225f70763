/** REST keys have at least 16 characters (customers.ts), and somebody may put one into a page. */
const MAX_SHOWN = 15

/**
 * An unknown tracking key as it is counted: the key, or its first four characters and `…` if it may be a REST key, which
 * is never stored. Empty if it does not look like a key.
 */
export function shownKey(text: string): string {
  if (!/^[\w-]{1,256}$/.test(text)) return ''
  return text.length > MAX_SHOWN ? `${text.slice(0, 4)}…` : text
}
