/** Elements that run, load or navigate, whole. */
const WHOLE = /<(script|noscript|iframe|frameset|object|template)\b[\s\S]*?(?:<\/\1\s*>|$)/gi
const SINGLE = /<\/?(?:link|meta|base|embed|frame)\b[^<>]*>/gi
const TAG = /<[a-z][^<>]*>/gi
const VALUE = String.raw`\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'>]+)`
const HANDLER = new RegExp(String.raw`\son\w+${VALUE}`, 'gi')
const LEADS = new RegExp(
  String.raw`\s(?:src|srcset|href|poster|background|action|formaction|ping|data|xlink:href)(?!${'\\s*=\\s*["\']?data:image/'})${VALUE}`,
  'gi',
)
/** Loads in styles: `url(…)` of anything but data, and `@import`. */
const LOADS = /url\(\s*(?!['"]?data:image\/)[^()]*\)|@import[^;<>]*;?/gi
/** Stands where a picture would be loaded from elsewhere. */
const BLANK =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 4 3'%3E%3Cpath fill='%23d5ddd9' d='M0 0h4v3H0z'/%3E%3C/svg%3E"
const STYLE =
  '<style>body{margin:18px;font:15px/1.5 sans-serif;color:#17211f;background:#fff;overflow-wrap:anywhere}img{max-width:100%}a{color:#1a56c4;text-decoration:underline}</style>'

/**
 * A campaign's HTML as its preview shows it: nothing runs, loads or leads anywhere. What keeps it from
 * that is the frame's sandbox and the page's policy; this only keeps them from having to complain, so it
 * need not know every spelling.
 */
export function stillOf(/** @type {string} */ html) {
  const still = html
    .replace(WHOLE, '')
    .replace(SINGLE, '')
    .replace(LOADS, 'none')
    .replace(TAG, (tag) => {
      const quiet = tag.replace(HANDLER, '').replace(LEADS, '')
      return /^<img\b/i.test(quiet) && !/\ssrc\s*=/i.test(quiet)
        ? `<img src="${BLANK}"${quiet.slice(4)}`
        : quiet
    })
  return `<!doctype html>${STYLE}${still}`
}
