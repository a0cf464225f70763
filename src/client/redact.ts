/**
 * Replaces the keys in a text by `***`.
 *
 * @param isCut Whether the end of the text is missing. Then the last characters are removed as well, since they
 * may be the beginning of a key. Default false.
 */
export type Redact = (text: string, isCut?: boolean) => string

/**
 * For texts from the gateway and from proxies: they may repeat the address of a request, which contains the keys.
 * A key is found as it is, percent-encoded, escaped for JSON, and read from JSON that did not escape it, in upper and
 * lower case.
 */
export function createRedact(keys: readonly string[]): Redact {
  const spellings = new Set(keys.filter(Boolean).flatMap(spellingsOf).filter(Boolean))
  // The longest first: one key may begin like another.
  const longestFirst = [...spellings].sort((a, b) => b.length - a.length)
  const pattern = new RegExp(longestFirst.map(escapePattern).join('|') || '(?!)', 'gi')
  const longest = longestFirst[0]?.length ?? 0
  return (text, isCut) => text.replace(pattern, '***').slice(0, isCut ? -longest : undefined)
}

function spellingsOf(key: string): readonly string[] {
  const encoded = encodeURIComponent(key)
  const form = new URLSearchParams({ '': key }).toString().slice(1)
  // The parser of addresses encodes the apostrophe as well (https://url.spec.whatwg.org/#query-state).
  const inAddress = encoded.replaceAll("'", '%27')
  const escaped = JSON.stringify(key).slice(1, -1)
  return [key, encoded, inAddress, form, escaped, readUnescaped(key)]
}

/** What JSON means by the key, if somebody has written it there as it is. Empty if that is not JSON. */
function readUnescaped(key: string): string {
  try {
    return JSON.parse(`"${key}"`)
  } catch {
    return ''
  }
}

const escapePattern = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
