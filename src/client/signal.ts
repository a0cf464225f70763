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

type Listener = () => void

/**
 * The client's listeners by signal. A server may give the same signal to every call, and Node warns of a leak at
 * the eleventh listener, so the client adds one listener per signal. AbortSignal.any is no alternative: in Node 20
 * it leaks if the signal outlives the calls (https://github.com/nodejs/node/issues/55351), and some edge runtimes
 * do not have it.
 */
const shared = new WeakMap<Signal, { readonly listeners: Set<Listener>; readonly stop: Listener }>()

/**
 * Calls the listener once when the signal aborts; at once if it already has.
 *
 * @returns A function that removes the listener.
 */
export function onAbort(signal: Signal | undefined, listener: Listener): Listener {
  if (signal?.aborted) listener()
  if (!signal || signal.aborted) return () => {}
  const { listeners, stop } = shared.get(signal) ?? share(signal)
  const own = () => listener()
  listeners.add(own)
  return () => {
    if (listeners.delete(own) && !listeners.size) stop()
  }
}

function share(signal: Signal) {
  const listeners = new Set<Listener>()
  const callAll = () => {
    stop()
    for (const listener of listeners) listener()
  }
  const stop = () => {
    shared.delete(signal)
    signal.removeEventListener('abort', callAll)
  }
  signal.addEventListener('abort', callAll)
  const all = { listeners, stop }
  shared.set(signal, all)
  return all
}

/**
 * Settles like the promise, but rejects with the signal's reason as soon as the signal aborts: a fetch that
 * was given to createClient may ignore its signal.
 */
export function orAborted<T>(promise: Promise<T>, signal: Signal): Promise<T> {
  return new Promise((resolve, reject) => {
    const undo = onAbort(signal, () => reject(signal.reason))
    promise.then(resolve, reject).finally(undo)
  })
}

/** Resolves after a time, or as soon as the signal aborts. */
export function wait(ms: number, signal: Signal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      undo()
      resolve()
    }, ms)
    const undo = onAbort(signal, () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
