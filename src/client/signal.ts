/** The runtime's AbortSignal, or what the client uses of it if the runtime's types have none. */
export type Signal = typeof globalThis extends { AbortSignal: { prototype: infer S } }
  ? S
  : AnySignal

type AnySignal = {
  readonly aborted: boolean
  readonly reason: unknown
  addEventListener(type: 'abort', listener: () => void): void
  removeEventListener(type: 'abort', listener: () => void): void
}

/**
 * Settles like the promise, but rejects with the signal's reason as soon as the signal aborts: a fetch that
 * was given to createClient may ignore its signal.
 */
export function orAborted<T>(promise: Promise<T>, signal: Signal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort)
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

/** Resolves after a time, or as soon as the signal aborts. */
export function wait(ms: number, signal: Signal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve()
    const end = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal?.addEventListener('abort', end)
  })
}
