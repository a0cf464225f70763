import { guard } from './guard.ts'

/** The used part of Storage. If an access fails, it returns undefined, `names` an empty list. */
export type Store = {
  get(name: string): string | null | undefined
  /** Whether the value is stored now. */
  set(name: string, value: string): boolean | undefined
  remove(name: string): void
  names(): string[]
}

/**
 * A Storage that never throws. Reading `window.localStorage` may throw (blocked cookies, sandboxed frames), it may be
 * null, and each call may fail (full, revoked).
 *
 * @param open Returns the Storage, or `false` while it must not be used. Called for each access; may throw.
 */
export const createStore = (open: () => Storage | false): Store => ({
  get: (name) => guard(() => (open() as Storage).getItem(name)),
  set: (name, value) =>
    guard(() => {
      ;(open() as Storage).setItem(name, value)
      // A page may have replaced it by something that does nothing.
      return (open() as Storage).getItem(name) === value
    }),
  remove: (name) => guard(() => (open() as Storage).removeItem(name)),
  names: () => guard(() => Object.keys(open()), []),
})
