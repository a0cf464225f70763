/**
 * Returns the result of a call, or `otherwise` if it throws. For accesses that browsers sometimes refuse, such as those to
 * storage and cookies. The error is not reported.
 */
export function guard<T, U = undefined>(call: () => T, otherwise?: U): T | U {
  try {
    return call()
  } catch {
    return otherwise as U
  }
}
