import { expect, test } from 'vitest'
import { printable, printableJson } from './printable.ts'

test.each([
  ['a line break', 'a\nb\r\n', 'a\\nb\\r\\n'],
  ['a colour', '\u001b[31mred\u001b[0m', '\\u{1b}[31mred\\u{1b}[0m'],
  ['an escape sequence in one character', '\u009b31m', '\\u{9b}31m'],
  ['a title and a bell', '\u001b]0;x\u0007', '\\u{1b}]0;x\\u{7}'],
  ['a backspace and a delete', 'a\bb\u007f', 'a\\u{8}b\\u{7f}'],
  ['an override of the direction', 'a\u202eb\u2066c\u200f', 'a\\u{202e}b\\u{2066}c\\u{200f}'],
  ['invisible characters', 'a\u200bb\ufeffc\u{e0041}', 'a\\u{200b}b\\u{feff}c\\u{e0041}'],
  ['separators of lines', '\u2028\u2029\u0085', '\\u{2028}\\u{2029}\\u{85}'],
  ['half a surrogate pair', '\ud83d!', '\\u{d83d}!'],
  ['a zero', '\0', '\\u{0}'],
])('%s is shown, not executed', (_, text, shown) => {
  expect(printable(text)).toBe(shown)
})

test('ordinary text is not changed', () => {
  const text = 'Căni & Co. – 漢字, שלום, مرحبا, 😀, "quoted" \\ \'it’s\''
  expect(printable(text)).toBe(text)
  expect(printableJson(text)).toBe(text)
})

test('a line of JSON keeps its value, without unsafe characters', () => {
  const value = { name: 'a\u202e\u009b31m\u2028\u{e0041}\u007f\n😀' }
  const line = printableJson(JSON.stringify(value))
  expect(JSON.parse(line)).toEqual(value)
  expect(printable(line)).toBe(line)
})
