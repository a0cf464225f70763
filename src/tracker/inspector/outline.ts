/**
 * Marks an element of the page by a frame over it. The element itself is not changed, and the frame takes no clicks.
 *
 * @param frame An element of the panel.
 * @returns Marks an element, or none.
 */
export const createOutline =
  (frame: HTMLElement) =>
  (element: Element | undefined): void => {
    const box = element?.isConnected ? element.getBoundingClientRect() : undefined
    const { style } = frame
    style.visibility = box && (box.width || box.height) ? 'visible' : 'hidden'
    if (!box) return
    style.left = `${box.left - 2}px`
    style.top = `${box.top - 2}px`
    style.width = `${box.width + 4}px`
    style.height = `${box.height + 4}px`
  }
