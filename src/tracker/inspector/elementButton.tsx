import { toText } from './explain.ts'

/** Names an element of the page, outlines it while it is pointed at or focused, and scrolls to it. */
export function ElementButton({
  element,
  outline,
  scrollTo,
}: {
  readonly element: Element
  /** Outlines an element, or none. */
  readonly outline: (element: Element | undefined) => void
  readonly scrollTo: (element: Element) => void
}) {
  const enter = () => outline(element)
  const leave = () => outline(undefined)
  return (
    <button
      type="button"
      class="place"
      title="Scroll to this element"
      onClick={() => scrollTo(element)}
      onMouseEnter={enter}
      onFocus={enter}
      onMouseLeave={leave}
      onBlur={leave}
    >
      {toText(element)}
    </button>
  )
}
