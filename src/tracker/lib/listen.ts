import { guard } from './guard.ts'

/** Adds a listener, for the life of the page, whose failure stays ours. */
export function listen(
  target: EventTarget,
  types: string,
  listener: (event: Event) => void,
  capture = false,
): void {
  for (const type of types.split(' '))
    target.addEventListener(
      type,
      // The page goes on; what we could not read we do not report.
      (event) => guard(() => listener(event)),
      capture,
    )
}
