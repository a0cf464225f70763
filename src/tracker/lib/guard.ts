/**
 * Returns what a call returns, or `otherwise` if it throws: for what browsers sometimes refuse, such as storage and
 * cookies. The error is not reported.
 */
export function guard<T, U = undefined>(call: () => T, otherwise?: U): T | U {
  try {
    return call()
  } catch {
    return otherwise as U
  }
}
