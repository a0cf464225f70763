import { dropFirst } from './dropFirst.ts'

/** The golden angle, degrees: however many hues there are, the next one falls into the widest gap. */
const STEP = 137.508
/** The first one: a blue. */
const FIRST = 212
/** Devices whose hue is remembered; above it the one that came first gets a new one. */
const MAX_HUES = 20_000

/** @returns A device's hue, 0 to 360: by order of appearance, and kept. */
export function createHues(): (did: string) => number {
  const hues = new Map<string, number>()
  let count = 0
  return (did) => {
    const known = hues.get(did)
    if (known !== undefined) return known
    const hue = (FIRST + count++ * STEP) % 360
    hues.set(did, hue)
    if (hues.size > MAX_HUES) dropFirst(hues)
    return hue
  }
}

/** The hue of a device, the same everywhere in this page. */
export const hueOf = createHues()
