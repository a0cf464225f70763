/** Code points of the named entities of XML: shop plugins escape with these and with numbers. */
const NAMED: { readonly [name: string]: number } = { amp: 38, lt: 60, gt: 62, quot: 34, apos: 39 }

/**
 * Text as a shop's page escaped it, unescaped once: `&#38;amp;` is `&amp;`. Numbers (decimal to
 * 999999, hexadecimal to fffff) and the five names; anything else stays. By hand, since every way
 * through the browser's own parser is forbidden where a page demands Trusted Types.
 */
export const decodeEntities = (text: string): string =>
  text.replace(/&(?:#(\d{1,6}|[xX][\da-fA-F]{1,5})|(amp|lt|gt|quot|apos));/g, (_, number, name) =>
    String.fromCodePoint(NAMED[name] ?? +`0${number}`),
  )
