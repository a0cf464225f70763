/** A piece of HTML, made by `html`. */
export type Html = { readonly text: string }

type Value = string | number | Html | readonly Html[] | false | undefined

/**
 * A template for readable HTML. Values that are text are escaped. A piece of HTML gets the indentation of its line; the
 * pieces of an array get a line each. `false` and `undefined` leave nothing, not even an empty line.
 */
export function html(strings: TemplateStringsArray, ...values: readonly Value[]): Html {
  const indent = /^\n( *)/.exec(strings[0] ?? '')?.[1] ?? ''
  const parts = strings.map((part) => part.replaceAll(`\n${indent}`, '\n'))
  let text = (parts[0] ?? '').replace(/^\n/, '')
  for (const [index, value] of values.entries()) {
    const line = /[^\n]*$/.exec(text)?.[0] ?? ''
    const here = /^ */.exec(line)?.[0] ?? ''
    const piece = write(value).replaceAll('\n', `\n${here}`)
    const rest = parts[index + 1] ?? ''
    const isEmptyLine = piece === '' && line.trim() === '' && /^\n/.test(rest)
    text = isEmptyLine
      ? text.slice(0, text.length - line.length) + rest.slice(1)
      : text + piece + rest
  }
  return { text: text.replace(/\n *$/, '') }
}

function write(value: Value): string {
  if (value === false || value === undefined) return ''
  if (typeof value === 'string' || typeof value === 'number') return escapeText(String(value))
  return 'text' in value ? value.text : value.map(({ text }) => text).join('\n')
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
}

const escapeText = (text: string): string =>
  text.replace(/[&<>"]/g, (character) => ENTITIES[character] ?? character)
