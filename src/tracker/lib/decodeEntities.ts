/** The named entities of XML. Shop plugins escape with these and with numbers. */
const NAMED: { readonly [name: string]: number } = { amp: 38, lt: 60, gt: 62, quot: 34, apos: 39 }

/**
 * Decodes entities once: `&#38;amp;` becomes `&amp;`. Knows numbers (decimal to 999999, hexadecimal to fffff) and the
 * five names of XML; everything else stays. A page that requires Trusted Types forbids the browser's own parser
 * (https://www.w3.org/TR/trusted-types/).
 */
export const decodeEntities = (text: string): string =>
  text.replace(/&(#?\w{1,6});/g, (entity, name) => {
    const code = NAMED[name] ?? +entity.slice(0, -1).replace('&#', '0')
    return code ? String.fromCodePoint(code) : entity
  })
