import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const css = readFileSync(`${import.meta.dirname}/panel.css`, 'utf8')

/** The colours of a scheme, by name. The dark one changes some of the light one. */
const coloursOf = (text: string) =>
  Object.fromEntries(
    [...text.matchAll(/--([a-z]+): (#[0-9a-f]{6});/g)].map(([, name, colour]) => [name, colour]),
  )
const [light = '', dark = ''] = css.split('@media (prefers-color-scheme: dark)')
const SCHEMES = { light: coloursOf(light), dark: coloursOf(dark) }

/** Relative luminance (WCAG 2.2). */
function luminance(colour: string): number {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}

function contrast(one = '', other = ''): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b)
  return (light + 0.05) / (dark + 0.05)
}

const TEXTS = ['ink', 'soft', 'good', 'busy', 'warn', 'bad', 'calm']
const GROUNDS = ['sheet', 'raised', 'sunk', 'hover']
const PAIRS = TEXTS.flatMap((text) =>
  GROUNDS.flatMap((ground) =>
    (['light', 'dark'] as const).map((scheme) => [text, ground, scheme] as const),
  ),
)

test.each(PAIRS)('the text %s on %s is readable in the %s scheme', (text, ground, scheme) => {
  const colours = SCHEMES[scheme]
  expect(contrast(colours[text], colours[ground])).toBeGreaterThanOrEqual(4.5)
})

test.each(['light', 'dark'] as const)('the focus is visible in the %s scheme', (scheme) => {
  const colours = SCHEMES[scheme]
  for (const ground of GROUNDS)
    expect(contrast(colours.focus, colours[ground])).toBeGreaterThanOrEqual(3)
})

test('nothing moves by itself, so there is nothing to reduce', () => {
  expect(css).not.toMatch(/\b(transition|animation)|[^r]scroll-behavior/)
})
