/**
 * What a terminal may act upon or show otherwise than it is: control characters (escape sequences and line
 * breaks among them), separators of lines, formatting characters (those that turn the direction of text, or
 * can not be seen), halves of surrogate pairs.
 */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/** One line of text as it may be printed: what is unsafe in it is shown as `\n` or `\u{202e}`. */
export const printable = (line: string): string =>
  line.replace(
    UNSAFE,
    (char) => SHORT[char] ?? `\\u{${(char.codePointAt(0) as number).toString(16)}}`,
  )

/** A line of JSON, with what is unsafe in it escaped as JSON escapes it: it says the same. */
export const printableJson = (line: string): string =>
  line.replace(UNSAFE, (char) =>
    [...Array(char.length).keys()]
      .map((i) => `\\u${char.charCodeAt(i).toString(16).padStart(4, '0')}`)
      .join(''),
  )

/** Prints lines to stdout. A line may hold what anybody typed, so each is made printable. */
export const print = (lines: readonly string[]): void =>
  console.log(lines.map(printable).join('\n'))

/** The same to stderr. */
export const printError = (lines: readonly string[]): void =>
  console.error(lines.map(printable).join('\n'))
