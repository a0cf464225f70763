/**
 * What a call answers, or another value where it throws: for what the platform refuses now and then
 * (storage, cookies, malformed text). Nothing is reported; the other value is the way on.
 */
export function guard<T, U = undefined>(call: () => T, otherwise?: U): T | U {
  try {
    return call()
  } catch {
    return otherwise as U
  }
}
