/**
 * Ratios at which an IntersectionObserver calls: from 1 to a thousandth in steps of 2 %. The decisive ratio depends on the
 * sizes of element and screen (`isSeen`), which change.
 */
export const THRESHOLDS: readonly number[] = Array.from({ length: 320 }, (_, i) => 2 ** (-i / 32))

/** The used part of an IntersectionObserverEntry. */
export type Sight = {
  readonly isIntersecting: boolean
  readonly intersectionRect: Size
  readonly boundingClientRect: Size
  readonly rootBounds: Size | null
}
type Size = { readonly width: number; readonly height: number }

/**
 * Whether half of an element is on screen. If it is larger than the screen: half of what fits, so that a long section
 * counts when it covers half of the screen.
 *
 * @param frame Used as the size of the screen in a frame of another origin, which has no `rootBounds`.
 */
export function isSeen(sight: Sight, frame: Size): boolean {
  const { isIntersecting, intersectionRect: part, boundingClientRect: whole } = sight
  const screen = sight.rootBounds ?? frame
  const fits = Math.min(whole.width, screen.width) * Math.min(whole.height, screen.height)
  return isIntersecting && part.width * part.height * 2 >= fits
}
