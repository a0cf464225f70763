/** The frame of a report's charts: each fills the available width and has a title and a description. */
import type { ComponentChildren, RefObject } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'

/** An element and its width, px; 0 until it is measured. A hidden element keeps its last width. */
export function useWidth<E extends Element>(): [RefObject<E | null>, number] {
  const element = useRef<E>(null)
  const [width, setWidth] = useState(0)

  useLayoutEffect(() => {
    if (!element.current) return
    const observer = new ResizeObserver(([entry]) => {
      const wanted = Math.floor(entry?.contentRect.width ?? 0)
      if (wanted > 0) setWidth(wanted)
    })
    observer.observe(element.current)
    return () => observer.disconnect()
  }, [])

  return [element, width]
}

/** An SVG without scaling, so that its text has the same size at every width. */
export function Chart({
  id,
  width,
  height,
  title,
  text,
  children,
}: {
  readonly id: string
  readonly width: number
  readonly height: number
  readonly title: string
  /** Describes the drawing for screen readers. */
  readonly text: string
  readonly children: ComponentChildren
}) {
  return (
    <svg
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      role="img"
      aria-labelledby={`${id}-title ${id}-text`}
    >
      <title id={`${id}-title`}>{title}</title>
      <desc id={`${id}-text`}>{text}</desc>
      {children}
    </svg>
  )
}
