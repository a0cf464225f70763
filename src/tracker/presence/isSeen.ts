/**
 * Ratios at which an IntersectionObserver calls: each step is 2 % smaller than the one before, down to a
 * thousandth. Which ratio counts depends on the sizes of element and screen (`isSeen`), and both change.
 */
export const THRESHOLDS: readonly number[] = Array.from({ length: 320 }, (_, i) => 2 ** (-i / 32))

/** What is read of an IntersectionObserverEntry. */
export type Sight = {
  readonly isIntersecting: boolean
  readonly intersectionRect: Size
  readonly boundingClientRect: Size
  readonly rootBounds: Size | null
}
type Size = { readonly width: number; readonly height: number }

/**
 * Whether half of an element is on screen. Of an element that is higher or wider than the screen: half of
 * what fits, so a long section counts once it covers half of the screen.
 *
 * @param frame Stands in where a frame of another origin is not told the size of the screen.
 */
export function isSeen(sight: Sight, frame: Size): boolean {
  const { isIntersecting, intersectionRect: part, boundingClientRect: whole } = sight
  const screen = sight.rootBounds ?? frame
  const fits = Math.min(whole.width, screen.width) * Math.min(whole.height, screen.height)
  return isIntersecting && part.width * part.height * 2 >= fits
}
