import { guard } from '../lib/guard.ts'
import type { Look } from './panelMemory.ts'

/** How far an arrow key moves the panel, px; with Shift four times as far. */
const MOVE_PX = 16
/** What must remain visible of the panel, px. */
const EDGE_PX = 60
const ARROWS: { readonly [key: string]: readonly [x: number, y: number] } = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
}

export type Mover = {
  /** Moves the panel to its place, within the window. */
  place(): void
  /** Follows the pointer that was pressed on the header. */
  drag(down: PointerEvent & { readonly currentTarget: HTMLElement }): void
  /** An arrow key moves the panel. */
  moveByKey(event: KeyboardEvent): void
}

/**
 * Moves the panel by the pointer and by the arrow keys.
 *
 * @param frame The panel.
 * @param read How the panel is shown now.
 * @param move The panel has another place.
 * @param keep The place is to be remembered.
 */
export function createMover(
  frame: HTMLElement,
  read: () => Look,
  move: (place: readonly [left: number, top: number]) => void,
  keep: () => void,
): Mover {
  const place = () => {
    const look = read()
    const [left, top] = (look.shown === 'open' && !isSheet() && look.place) || []
    const { style } = frame
    if (left === undefined || top === undefined) {
      style.inset = ''
      return
    }
    const within = (value: number, max: number) => Math.max(0, Math.min(value, max - EDGE_PX))
    style.inset = `${within(top, innerHeight)}px auto auto ${within(left, innerWidth)}px`
  }

  const drag: Mover['drag'] = (down) => {
    const { currentTarget: handle, target, pointerId } = down
    if (down.button || (target as Element).closest('button:not(.move)') || isSheet()) return
    const { left, top } = frame.getBoundingClientRect()
    const [x, y] = [left - down.clientX, top - down.clientY]
    const follow = (event: PointerEvent) => {
      move([event.clientX + x, event.clientY + y])
      place()
    }
    const stop = () => {
      handle.removeEventListener('pointermove', follow)
      handle.removeEventListener('pointerup', stop)
      handle.removeEventListener('pointercancel', stop)
      keep()
    }
    guard(() => handle.setPointerCapture(pointerId))
    handle.addEventListener('pointermove', follow)
    handle.addEventListener('pointerup', stop)
    handle.addEventListener('pointercancel', stop)
  }

  const moveByKey = (event: KeyboardEvent) => {
    const [x, y] = ARROWS[event.key] ?? []
    if (x === undefined || y === undefined || isSheet()) return
    event.preventDefault()
    const { left, top } = frame.getBoundingClientRect()
    const step = MOVE_PX * (event.shiftKey ? 4 : 1)
    move([Math.max(0, left + x * step), Math.max(0, top + y * step)])
    keep()
    place()
  }

  return { place, drag, moveByKey }
}

/** Whether the panel is a sheet at the bottom of a phone, which is not moved (panel.css). */
const isSheet = () => matchMedia('(max-width: 600px)').matches
