import { expect, test } from 'vitest'
import { SETTINGS } from '../../contract/settings.ts'
import { settingsHelp } from './settingsHelp.ts'

test('every setting is in the help, with its default', () => {
  const help = settingsHelp()
  for (const name of Object.keys(SETTINGS)) expect(help).toMatch(new RegExp(`^  ${name} `, 'm'))
  expect(help).toMatch(/^ {2}maxAgeDays +30 +an event /m)
  expect(help).toMatch(/^ {2}mask +none /m)
  expect(help).not.toContain('`')
})

test('a line has at most 113 characters', () => {
  for (const line of settingsHelp().split('\n')) expect(line.length).toBeLessThanOrEqual(113)
})

test('a long documentation is wrapped below its beginning, and no word is lost', () => {
  const doc = `some ${'word '.repeat(32)}\`end\``
  const lines = settingsHelp({ x: { doc, default: true } }).split('\n')
  expect(lines.length).toBe(3)
  expect(lines[0]).toMatch(/^ {2}x {18}true {8}some word word /)
  const words = lines.map((line) => line.slice(33)).join(' ')
  expect(words).toBe(`some ${'word '.repeat(32)}end`)
})
