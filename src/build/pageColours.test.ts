import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const css = readFileSync(new URL('../../public/operator/tokens.css', import.meta.url), 'utf8')

/** The colours of a scheme, by name. The dark one changes all of the light one. */
const coloursOf = (text: string) =>
  Object.fromEntries(
    [...text.matchAll(/--([a-z-]+): (#[0-9a-f]{6});/g)].map(([, name, colour]) => [name, colour]),
  )
const [light = '', dark = ''] = css.split('@media (prefers-color-scheme: dark)')
const SCHEMES = { light: coloursOf(light), dark: coloursOf(dark) }
/** The kinds of events, each with the name of its colour. */
const TONES = [...css.matchAll(/\[data-kind="(\w+)"\] \{\s+--tone: var\(--([a-z-]+)\)/g)].map(
  ([, kind = '', tone = '']) => [kind, tone] as const,
)

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

const BOTH = ['light', 'dark'] as const

test.each(BOTH.flatMap((scheme) => TONES.map(([kind, tone]) => [kind, scheme, tone] as const)))(
  'the sign and the columns of %s are visible in the %s scheme',
  (_, scheme, tone) => {
    const colours = SCHEMES[scheme]
    for (const ground of ['sheet', 'raised', 'hover', 'chosen'])
      expect(contrast(colours[tone], colours[ground])).toBeGreaterThanOrEqual(2.7)
  },
)

test.each(BOTH)('no two kinds have the same colour in the %s scheme', (scheme) => {
  const tones = TONES.map(([, tone]) => SCHEMES[scheme][tone])
  expect(TONES.length).toBeGreaterThan(15)
  expect(new Set(tones).size).toBe(TONES.length)
})
