import type { Issue } from '../contract/index.ts'
import { type GivenOptions, read, takeOptions } from './givenOptions.ts'
import { onAbort } from './onAbort.ts'
import type { Signal } from './settings.ts'

/** The last argument of every operation. Another option than these is a fault. */
export type CallOptions = {
  /** Ends the call, its waits and its tries. The error then is an ApiException with `status: 0`. */
  readonly signal?: Signal | null | undefined
  /** As of `createClient`, for this call. */
  readonly timeoutMs?: number | undefined
  /** As of `createClient`, for this call. */
  readonly retries?: number | undefined
}

/** The options of one call, checked and completed. */
export type CallSettings = Limits & { readonly signal: Signal | undefined }

/** What a call may cost, of the client or of one call. */
export type Limits = { readonly timeoutMs: number; readonly retries: number }

const MAX_RETRIES = 10
/** What a timer can hold: above it fires at once. */
const MAX_TIMEOUT_MS = 2_147_483_647

/** Checks the options of one call, and completes them from the client's. */
export function readCallOptions(
  options: unknown,
  usual: Limits,
): { readonly issues: readonly Issue[]; readonly call: CallSettings } {
  const taken = takeOptions<keyof CallOptions>(options, ['signal', 'timeoutMs', 'retries'])
  const signal = taken.given.signal ?? undefined
  if (signal !== undefined && !isSignal(signal)) taken.refuse('signal', 'an AbortSignal', signal)
  const limits = readLimits(taken, usual)
  return { issues: taken.issues, call: { signal: signal as Signal | undefined, ...limits } }
}

/** Checks limits, and completes them. They are no secrets, so a number is shown. */
export function readLimits(
  { given, refuse }: Pick<GivenOptions<keyof Limits>, 'given' | 'refuse'>,
  usual: Limits,
): Limits {
  const limit = (
    name: keyof Limits,
    what: string,
    isWithin: (value: number) => boolean,
  ): number => {
    const value = given[name] ?? usual[name]
    if (typeof value === 'number' && isWithin(value)) return value
    refuse(name, what, value, typeof value === 'number' ? `${value}` : undefined)
    return usual[name]
  }
  return {
    timeoutMs: limit(
      'timeoutMs',
      `milliseconds from 1 to ${MAX_TIMEOUT_MS}`,
      (value) => value >= 1 && value <= MAX_TIMEOUT_MS,
    ),
    retries: limit(
      'retries',
      `a whole number from 0 to ${MAX_RETRIES}`,
      (value) => Number.isInteger(value) && value >= 0 && value <= MAX_RETRIES,
    ),
  }
}

/** Whether it has all that is used of a signal. */
function isSignal(value: unknown): boolean {
  const signal: { readonly [Part in keyof Signal]?: unknown } = Object(value)
  const works = read(() => {
    if (typeof signal.aborted !== 'boolean') return false
    // Tried, since a method may be there and refuse to be called.
    onAbort(signal as Signal, () => {})()
    return (
      typeof signal.addEventListener === 'function' &&
      typeof signal.removeEventListener === 'function'
    )
  })
  return works === true
}
