/** The longest path that is shown, characters. */
const MAX_LENGTH = 120
/** A longer path is not read. */
const MAX_READ = 2_048
/** In place of a part that may be about a visitor. */
const HIDDEN = '*'

/**
 * What of a path may be about a visitor: an address, six digits or more (orders, telephones), and long words of digits
 * and letters (tokens, UUIDs). Words of letters alone are names of pages.
 */
const PERSONAL =
  /@|%|(?:\d[ ._-]?){6}|[a-z\d]{28}|[\da-f]{8}-[\da-f]{4}-|(?=[a-z]*\d)(?=\d*[a-z])[a-z\d]{16}/i
/** Characters that a terminal or a page may show as something else. */
const INVISIBLE = /[\p{C}\p{Zl}\p{Zp}]/u

/**
 * The path of a page as it is counted: without query, fragment and parameters behind `;`, decoded, at most 120
 * characters. Segments that may be about a visitor become `*`.
 *
 * @param path As in `location.pathname`, or anything that a stranger has sent.
 */
export function pagePath(path: string): string {
  const [plain = ''] = path.slice(0, MAX_READ).split(/[?#]/, 1)
  const shown = plain
    .replace(/^\/+/, '')
    .split('/')
    .map((segment) => {
      const [text = ''] = decode(segment).split(';', 1)
      return PERSONAL.test(text) || INVISIBLE.test(text) ? HIDDEN : text
    })
  let result = ''
  for (const segment of shown) {
    if (result.length + segment.length >= MAX_LENGTH) return `${result}/…`
    result += `/${segment}`
  }
  return result
}

/** The path of a URL. Empty if it is none. */
export function pathOfUrl(url: unknown): string {
  if (typeof url !== 'string' || url.length > MAX_READ) return ''
  // The parser of URLs is not needed: a path that is read wrongly is only shown.
  const found = /^https?:\/\/[^/?#\s]+([^?#]*)/i.exec(url)
  return found ? pagePath(found[1] as string) : ''
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return HIDDEN
  }
}

/** An Origin as it is counted. Empty if it is not one that a browser sends. */
export const shownOrigin = (origin: string): string =>
  origin === 'null' ||
  (origin.length <= MAX_LENGTH && /^[a-z][a-z\d+.-]*:\/\/[\w.:[\]-]+$/i.test(origin))
    ? origin
    : ''
