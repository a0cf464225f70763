import { boxesOf } from './boxesOf.ts'
import { isSeen, THRESHOLDS } from './isSeen.ts'

/** An element was seen if half of it is on screen for this time. */
const SEEN_MS = 1000

/**
 * Watches whether the visitor sees an element: half of it, or of one of its boxes, for a second.
 *
 * @param onSeen Called each time that it was seen.
 * @returns Finds the element's boxes, and starts a new second if it is on screen. To be called at the beginning, and when
 * the page has changed.
 */
export function createWatch(element: HTMLElement, onSeen: () => void): () => void {
  const onScreen = new Set<Element>()
  let boxes: Element[] = []
  let timer = 0

  const update = () => {
    if (!onScreen.size) {
      clearTimeout(timer)
      timer = 0
    } else if (!timer) timer = setTimeout(end, SEEN_MS)
  }
  const end = () => {
    timer = 0
    onSeen()
  }
  const screen = new IntersectionObserver(
    (sights) => {
      for (const sight of sights)
        if (isSeen(sight, { width: innerWidth, height: innerHeight })) onScreen.add(sight.target)
        else onScreen.delete(sight.target)
      update()
    },
    { threshold: [...THRESHOLDS] },
  )

  return () => {
    const before = boxes
    boxes = boxesOf(element)
    for (const box of before)
      if (!boxes.includes(box)) {
        screen.unobserve(box)
        onScreen.delete(box)
      }
    for (const box of boxes) screen.observe(box)
    update()
  }
}
