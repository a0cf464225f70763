/** What the drawings of a report share: they fill the width they are given, and say what they show. */
import { svg } from '/live/dom.js'

/** Draws again at each width; text keeps its size. @param {(width: number) => void} draw */
export function drawToFit(/** @type {Element} */ element, draw) {
  let width = 0
  new ResizeObserver(([{ contentRect }]) => {
    const wanted = Math.floor(contentRect.width)
    if (wanted === width || wanted === 0) return
    width = wanted
    draw(width)
  }).observe(element)
  return () => width && draw(width)
}

/** A picture with its title and description, for who can not see it. */
export function picture(id, width, height, title, text, ...children) {
  return svg(
    'svg',
    {
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: 'img',
      'aria-labelledby': `${id}-title ${id}-text`,
    },
    svg('title', { id: `${id}-title` }, title),
    svg('desc', { id: `${id}-text` }, text),
    ...children,
  )
}
