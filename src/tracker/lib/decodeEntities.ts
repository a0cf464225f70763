/** Code points of the named entities of XML: shop plugins escape with these and with numbers. */
const NAMED: { readonly [name: string]: number } = { amp: 38, lt: 60, gt: 62, quot: 34, apos: 39 }

/**
 * Text as a shop's page escaped it, unescaped once: `&#38;amp;` is `&amp;`. Numbers (decimal to
 * 999999, hexadecimal to fffff) and the five names; anything else stays. By hand, since every way
 * through the browser's own parser is forbidden where a page demands Trusted Types.
 */
export const decodeEntities = (text: string): string =>
  text.replace(/&(#?\w{1,6});/g, (entity, name) => {
    const code = NAMED[name] ?? +entity.slice(0, -1).replace('&#', '0')
    return code ? String.fromCodePoint(code) : entity
  })
