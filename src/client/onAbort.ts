import type { Signal } from './settings.ts'

type Shared = {
  readonly listeners: Set<() => void>
  /** Takes the one listener off the signal. */
  stop(): void
}

/**
 * One listener a signal, for all that listen to it: Node warns of a leak at the eleventh, and a server may
 * give the same signal to every call.
 */
const sharedBySignal = new WeakMap<Signal, Shared>()

/**
 * Calls the listener once when the signal aborts; at once where it already has.
 *
 * @returns What takes the listener back.
 */
export function onAbort(signal: Signal | undefined, listener: () => void): () => void {
  if (!signal) return () => {}
  if (signal.aborted) {
    listener()
    return () => {}
  }
  const { listeners, stop } = sharedBySignal.get(signal) ?? share(signal)
  // A function of its own, since the same one may listen twice.
  const own = () => listener()
  listeners.add(own)
  return () => {
    if (listeners.delete(own) && !listeners.size) stop()
  }
}

function share(signal: Signal): Shared {
  const listeners = new Set<() => void>()
  const callAll = () => {
    stop()
    // Who is taken back while the others are called is not called any more.
    for (const listener of listeners) {
      listeners.delete(listener)
      listener()
    }
  }
  const stop = () => {
    sharedBySignal.delete(signal)
    signal.removeEventListener('abort', callAll)
  }
  signal.addEventListener('abort', callAll)
  const shared = { listeners, stop }
  sharedBySignal.set(signal, shared)
  return shared
}
