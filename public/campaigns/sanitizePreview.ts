/** Elements that run scripts, load or navigate, removed with their content. */
const WHOLE = /<(script|noscript|iframe|frameset|object|template)\b[\s\S]*?(?:<\/\1\s*>|$)/gi
const SINGLE = /<\/?(?:link|meta|base|embed|frame)\b[^<>]*>/gi
const TAG = /<([a-z][^\s/<>]*)([^<>]*)>/gi
/** An attribute of a tag, with its separator: a space, a slash, or nothing after a quotation mark. */
const ATTRIBUTE = /[\s/]?([^\s/="'<>]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"'<>]*))?/g
const HANDLER = /^on/i
const LEADS =
  /^(?:src|srcset|href|poster|background|action|formaction|ping|data|xlink:href|srcdoc)$/i
const OWN_PICTURE = /^["']?\s*data:image\//i
/**
 * Requests in styles: `url(…)` except data, and `@import`. The optional parts are in the look-ahead, so that no space
 * is matched twice.
 */
const LOADS = /url\((?!\s*["']?data:image\/)[^()]*\)|@import[^;<>]*;?/gi
/** Placeholder for an external picture. */
const BLANK =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 4 3'%3E%3Cpath fill='%23d5ddd9' d='M0 0h4v3H0z'/%3E%3C/svg%3E"
const STYLE =
  '<style>body{margin:18px;font:15px/1.5 sans-serif;color:#17211f;background:#fff;overflow-wrap:anywhere}img{max-width:100%}a{color:#1a56c4;text-decoration:underline}</style>'

/**
 * A campaign's HTML for its preview, without scripts, requests and links. The iframe's sandbox and the page's
 * Content-Security-Policy enforce this; sanitizing only avoids their messages in the console, so it need not find every
 * spelling. Its time is linear in the length of the HTML, for any HTML.
 */
export function sanitizePreview(html: string): string {
  const sanitized = html
    .replace(WHOLE, '')
    .replace(SINGLE, '')
    .replace(LOADS, 'none')
    .replace(
      TAG,
      (_, name: string, attributes: string) => `<${name}${sanitizeAttributes(name, attributes)}>`,
    )
  return `<!doctype html>${STYLE}${sanitized}`
}

function sanitizeAttributes(tag: string, attributes: string): string {
  let hasPicture = false
  const sanitized = attributes.replace(ATTRIBUTE, (whole, name: string, value = '') => {
    const leads = LEADS.test(name) && !OWN_PICTURE.test(value)
    if (leads || HANDLER.test(name)) return ''
    if (/^src$/i.test(name)) hasPicture = true
    return whole
  })
  return /^img$/i.test(tag) && !hasPicture ? ` src="${BLANK}"${sanitized}` : sanitized
}
