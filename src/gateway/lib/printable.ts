import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

/**
 * Characters that a terminal executes or displays as something else: control characters (escape sequences, line
 * breaks), line separators, formatting characters (bidirectional overrides, invisible ones), lone surrogates.
 */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/** Escapes the unsafe characters of one line for display: `\n`, `\u{202e}`. */
export const printable = (line: string): string =>
  line.replace(
    UNSAFE,
    (char) => SHORT[char] ?? `\\u{${(char.codePointAt(0) as number).toString(16)}}`,
  )

/** Escapes the unsafe characters of one line of JSON as JSON does, so that its value stays the same. */
export const printableJson = (line: string): string =>
  line.replace(UNSAFE, (char) =>
    [...Array(char.length).keys()]
      .map((i) => `\\u${char.charCodeAt(i).toString(16).padStart(4, '0')}`)
      .join(''),
  )

/** The text that `print` writes. A line may contain user input, so each one is escaped. */
export const printedText = (lines: readonly string[]): string => lines.map(printable).join('\n')

/** Prints lines to stdout. */
export const print = (lines: readonly string[]): void => console.log(printedText(lines))

/** The same to stderr. */
export const printError = (lines: readonly string[]): void => console.error(printedText(lines))

/**
 * Writes a text that is made while it is written: the next pieces are made when the last ones are taken. Its maker
 * escapes what is unsafe. Rejects with the error of the iteration or of the stream.
 */
export const writePieces = (
  pieces: Iterable<string> | AsyncIterable<string | Uint8Array>,
  stream: NodeJS.WritableStream,
): Promise<void> => pipeline(Readable.from(pieces), stream, { end: false })
