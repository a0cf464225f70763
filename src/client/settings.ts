import { isLongerThan } from '../contract/characters.ts'
import { EVENT_NAMES, type Issue, type TrackingOperation, validate } from '../contract/index.ts'
import { type Limits, readLimits } from './callOptions.ts'
import type { GetRandomValues } from './eventId.ts'
import { read, takeOptions } from './givenOptions.ts'

/** The runtime's AbortSignal, or what of it the client uses where the runtime's types have none. */
export type Signal = typeof globalThis extends { AbortSignal: { prototype: infer S } }
  ? S
  : AnySignal

type AnySignal = {
  readonly aborted: boolean
  readonly reason: unknown
  addEventListener(type: 'abort', listener: () => void): void
  removeEventListener(type: 'abort', listener: () => void): void
}

/** What the client asks of a fetch. The runtime's own fits. */
export type Fetch = (url: string, init: FetchInit) => Promise<FetchedAnswer>

export type FetchInit = {
  readonly method: 'GET' | 'POST'
  readonly headers: Record<string, string>
  readonly body?: string
  /** The client follows redirects itself, where a key may follow. */
  readonly redirect: 'manual'
  readonly signal: Signal
}

/** What the client reads of a Response. */
export type FetchedAnswer = {
  readonly status: number
  readonly type?: string
  readonly redirected?: boolean
  readonly url?: string
  readonly headers: { get(name: string): string | null }
  readonly body?: ByteStream | null
  /** Called only where there is no `body`. */
  text(): Promise<string>
}

export type ByteStream = {
  getReader(): {
    read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>
    cancel(): Promise<void>
  }
}

/** The timers of a runtime: `globalThis` fits. */
export type Clock = {
  setTimeout(callback: () => void, ms: number): unknown
  clearTimeout(timer: unknown): void
}

/**
 * What `createClient` takes, and nothing else: another option is a fault. Credentials and address may be undefined for the types, since the
 * environment they come from may not have them; for `createClient` that is a fault.
 */
export type ClientOptions = {
  /** The customer's ID, at most 256 characters. White space at its ends is cut off, as of the keys. */
  readonly customerId: string | undefined
  /** The secret key, at most 256 characters. It belongs on servers: never give it to a page. */
  readonly restKey: string | undefined
  /** 6 to 20 characters. Needed for the tracking events, and the default of serveJavascript. */
  readonly trackingKey?: string | undefined
  /** Where the gateway is: `https://gateway.example`, with a path where it has one, without the next two. */
  readonly baseUrl: string | undefined
  /** In front of the paths of campaigns and of sendCustomApi. @default '/api/v1' */
  readonly apiPath?: string | undefined
  /** In front of the paths of tracking events and of serveJavascript. @default '/t' */
  readonly trackingPath?: string | undefined
  /**
   * Event names in place of the usual ones, by operation: `{ addToCart: 'de_add_to_cart' }`. A payload's
   * own `event` goes before both.
   */
  readonly events?:
    | { readonly [O in Exclude<TrackingOperation, 'sendCustom'>]?: string | undefined }
    | undefined
  /** ms a try may take, answer's body included; 1 to 2,147,483,647. @default 10_000 */
  readonly timeoutMs?: number | undefined
  /** Tries after the first one, 0 to 10. @default 2 */
  readonly retries?: number | undefined
  /** @default globalThis.fetch, looked up at each request */
  readonly fetch?: Fetch | undefined
  /** ms since 1970. @default Date.now */
  readonly now?: (() => number) | undefined
  /** From 0 to 1, for the jitter between tries. @default Math.random */
  readonly random?: (() => number) | undefined
  /**
   * Fills the list it is given, for the ids of events. Where there is none, or it leaves the list empty,
   * tracking events are refused. @default crypto.getRandomValues, looked up at each event
   */
  readonly getRandomValues?: GetRandomValues | undefined
  /** @default globalThis, looked up at each timer */
  readonly clock?: Clock | undefined
}

/** Options of a client, checked and completed. */
export type Settings = Limits & {
  readonly customerId: string
  readonly restKey: string
  readonly trackingKey: string | undefined
  /** Without a slash at the end, like the next. */
  readonly apiUrl: string
  readonly trackingUrl: string
  /** The event name of each operation; empty where only the caller can say it. */
  readonly events: { readonly [O in TrackingOperation]: string }
  readonly fetch: Fetch
  readonly now: () => number
  readonly random: () => number
  readonly getRandomValues: GetRandomValues
  readonly clock: Clock
}

export const DEFAULT_TIMEOUT_MS = 10_000
export const DEFAULT_RETRIES = 2
/** Of a credential: the pattern that finds one in an error, in all its spellings, is 85 times as long. */
const MAX_CREDENTIAL_CHARACTERS = 256

/** Every option that there is; the compiler asks for each. */
const OPTIONS: { readonly [O in keyof Required<ClientOptions>]: true } = {
  customerId: true,
  restKey: true,
  trackingKey: true,
  baseUrl: true,
  apiPath: true,
  trackingPath: true,
  events: true,
  timeoutMs: true,
  retries: true,
  fetch: true,
  now: true,
  random: true,
  getRandomValues: true,
  clock: true,
}

/** What every runtime has; read when it is used, so that a test's fake timers and fetch count. */
const runtime = globalThis as unknown as Clock & {
  readonly fetch?: Fetch
  readonly crypto?: { getRandomValues: GetRandomValues }
}

/**
 * Checks the options of a client and completes them. No value is shown in an issue: what stands in the
 * wrong place may be a key.
 *
 * @returns The settings, or every issue.
 */
export function readSettings(
  options: unknown,
):
  | { readonly ok: true; readonly settings: Settings }
  | { readonly ok: false; readonly issues: readonly Issue[] } {
  const taken = takeOptions(options, Object.keys(OPTIONS) as (keyof ClientOptions)[])
  const { given, issues, refuse } = taken

  const baseUrl = readBaseUrl(given.baseUrl)
  if (!baseUrl) refuse('baseUrl', BASE_URL, given.baseUrl)
  const apiPath = readPath('apiPath', '/api/v1')
  const trackingPath = readPath('trackingPath', '/t')
  const repeated = [apiPath, trackingPath].find(
    (path) => path && baseUrl && new URL(baseUrl).pathname.endsWith(path),
  )
  if (repeated) issues.push(toRepeatedPath(repeated))
  const settings = {
    customerId: readCredential('customerId'),
    restKey: readCredential('restKey'),
    trackingKey: readTrackingKey(),
    apiUrl: baseUrl + apiPath,
    trackingUrl: baseUrl + trackingPath,
    events: readEvents(),
    ...readLimits(taken, { timeoutMs: DEFAULT_TIMEOUT_MS, retries: DEFAULT_RETRIES }),
    fetch: readFunction('fetch', runtimeFetch),
    now: readFunction('now', () => Date.now()),
    random: readFunction('random', () => Math.random()),
    getRandomValues: readFunction('getRandomValues', runtimeRandomValues),
    clock: readClock(),
  }
  return issues.length ? { ok: false, issues } : { ok: true, settings }

  function readCredential(name: 'customerId' | 'restKey'): string {
    const value = given[name]
    const text = typeof value === 'string' ? value.trim() : ''
    if (!text || isLongerThan(text, MAX_CREDENTIAL_CHARACTERS) || !isWellFormed(text))
      refuse(name, `text of 1 to ${MAX_CREDENTIAL_CHARACTERS} characters that is not blank`, value)
    return text
  }

  function readTrackingKey(): string | undefined {
    const value = given.trackingKey ?? undefined
    if (value === undefined) return undefined
    if (typeof value !== 'string') {
      refuse('trackingKey', 'a tracking key as text', value)
      return undefined
    }
    const checked = validate('serveJavascript', { trackingKey: value.trim() })
    if (!checked.ok) {
      issues.push(...checked.error.issues)
      return undefined
    }
    if (!isWellFormed(checked.payload.trackingKey)) issues.push(NOT_WELL_FORMED)
    return checked.payload.trackingKey
  }

  function readPath(name: 'apiPath' | 'trackingPath', usual: string): string {
    const value = given[name] ?? usual
    const path = typeof value === 'string' && readPathText(value)
    if (path !== false) return path
    refuse(name, 'a path without query, fragment, dots and white space, such as /api/v1', value)
    return ''
  }

  function readEvents(): Settings['events'] {
    const events = given.events ?? {}
    const entries = read(() => Object(events) === events && Object.entries(events))
    if (!Array.isArray(entries)) {
      refuse('events', 'event names by operation', events)
      return EVENT_NAMES
    }
    const own = (entries as [string, unknown][]).filter(([, name]) => name !== undefined)
    for (const [operation, name] of own) {
      const path = `events.${operation}`
      if (!Object.hasOwn(EVENT_NAMES, operation) || operation === 'sendCustom')
        refuse(path, 'an operation that has a usual event name', name)
      else if (typeof name !== 'string' || !name.trim())
        refuse(path, 'text that is not blank', name)
    }
    return { ...EVENT_NAMES, ...Object.fromEntries(own) }
  }

  function readFunction<F>(name: keyof ClientOptions, usual: F): F {
    const value = given[name] ?? usual
    if (typeof value !== 'function') refuse(name, 'a function', value)
    return value as F
  }

  function readClock(): Clock {
    const { clock } = given
    if (clock === undefined || clock === null) return runtimeClock
    const isTimer = (name: keyof Clock) =>
      read(() => typeof (clock as Clock)[name] === 'function') === true
    if (!isTimer('setTimeout') || !isTimer('clearTimeout'))
      refuse('clock', 'an object with setTimeout and clearTimeout', clock)
    return clock as Clock
  }
}

const runtimeFetch: Fetch = (url, init) => {
  if (runtime.fetch) return runtime.fetch(url, init)
  throw new TypeError('This runtime has no fetch: give createClient one')
}

const runtimeRandomValues: GetRandomValues = (bytes) => {
  if (runtime.crypto) return runtime.crypto.getRandomValues(bytes)
  throw new TypeError('This runtime has no crypto.getRandomValues: give createClient one')
}

const runtimeClock: Clock = {
  setTimeout: (callback, ms) => runtime.setTimeout(callback, ms),
  clearTimeout: (timer) => runtime.clearTimeout(timer),
}

/** Of a tracking key that an address can not hold. */
export const NOT_WELL_FORMED: Issue = {
  path: 'trackingKey',
  message: 'Expected well-formed text, received half a surrogate pair',
}

export function isWellFormed(text: string): boolean {
  try {
    encodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

const BASE_URL = 'an http or https address without user, password, query and fragment'

const toRepeatedPath = (path: string): Issue => ({
  path: 'baseUrl',
  message: `Expected an address without ${path} at its end, which the client adds, received one with it`,
})

/** Without a slash at the end; nothing where it is no address, or one that says too much. */
function readBaseUrl(value: unknown): string {
  try {
    const url = new URL(typeof value === 'string' ? value.trim() : '')
    if (!/^https?:$/.test(url.protocol)) return ''
    if (url.username || url.password || url.search || url.hash) return ''
    return url.origin + url.pathname.replace(/\/+$/, '')
  } catch {
    return ''
  }
}

/** With a slash in front and none at the end; false where it would change an address otherwise. */
function readPathText(value: string): string | false {
  const path = `/${value}`.replace(/^\/+/, '/').replace(/\/+$/, '')
  const base = 'http://host.example'
  return new URL(base + path).href.replace(/\/$/, '') === base + path && !/[?#]/.test(path) && path
}
