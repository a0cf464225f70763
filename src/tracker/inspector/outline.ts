/** Marks an element of the page. */
export type Outline = {
  /** Marks an element, or none. */
  mark(element: Element | undefined): void
  /** To be called when the page was scrolled or has another size. */
  update(): void
}

/**
 * Marks an element of the page by a frame over it. The element itself is not changed, and the frame takes no clicks.
 *
 * @param frame An element of the panel.
 */
export function createOutline(frame: HTMLElement): Outline {
  let marked: Element | undefined
  const update = () => {
    const box = marked?.isConnected ? marked.getBoundingClientRect() : undefined
    const { style } = frame
    style.visibility = box && (box.width || box.height) ? 'visible' : 'hidden'
    if (!box) return
    style.left = `${box.left - 2}px`
    style.top = `${box.top - 2}px`
    style.width = `${box.width + 4}px`
    style.height = `${box.height + 4}px`
  }
  return {
    mark(element) {
      if (element === marked) return
      marked = element
      update()
    },
    update() {
      if (marked) update()
    },
  }
}
