import { guard } from './guard.ts'

/** Adds a listener that is never removed, and whose errors are not reported to the page. */
export function listen(
  target: EventTarget,
  types: string,
  listener: (event: Event) => void,
  capture = false,
): void {
  for (const type of types.split(' '))
    target.addEventListener(type, (event) => guard(() => listener(event)), capture)
}
