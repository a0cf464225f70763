import { dropFirst } from './dropFirst.ts'

/** The golden angle, degrees: each new hue falls into one of the widest gaps between the others. */
const STEP = 137.508
/** The first hue, a blue. */
const FIRST = 212
/** Devices whose hue is remembered. Above this number the oldest is forgotten, and gets a new hue if it returns. */
const MAX_HUES = 20_000

/** @returns A function from a device id to its hue, 0 to 360. Hues are given in order of appearance and kept. */
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

/** The hue of a device, the same everywhere on this page. */
export const hueOf = createHues()
