import { guard } from './guard.ts'

/** The part of Storage the script uses; what fails answers nothing. */
export type Store = {
  get(name: string): string | null | undefined
  /** Whether the value is stored now. */
  set(name: string, value: string): boolean | undefined
  remove(name: string): void
  names(): string[]
}

/**
 * A store over Storage that never throws. Merely reading `window.localStorage` may throw (blocked
 * cookies, sandboxed frames), it may be null, and every call on it may fail later (full, revoked).
 *
 * @param open Answers the Storage; called for each access, its failure is a failed access.
 */
export const createStore = (open: () => Storage): Store => ({
  get: (name) => guard(() => open().getItem(name)),
  set: (name, value) =>
    guard(() => {
      open().setItem(name, value)
      // A page may have put something in its place that does nothing.
      return open().getItem(name) === value
    }),
  remove: (name) => guard(() => open().removeItem(name)),
  names: () => guard(() => Object.keys(open()), []),
})
