/** The drawings of a report fill the width they are given, and have a title and a description. */
import type { ComponentChildren, RefObject } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'

/** An element and its width, px; 0 until it is known. A hidden element keeps the width it had. */
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

/** A drawing in its own size, so that its text keeps its size at each width. */
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
  /** The drawing in words. */
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
