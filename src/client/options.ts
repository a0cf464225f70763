import { type InferOutput, type ObjectEntries, type ObjectSchema, object, optional } from 'valibot'
import { isLongerThan, isWellFormed } from '../contract/characters.ts'
import { check } from '../contract/check.ts'
import { describeValue } from '../contract/describeValue.ts'
import { rule, tagOf } from '../contract/fields.ts'
import {
  EVENT_NAMES,
  type Issue,
  type TrackingOperation,
  ValidationException,
  validate,
} from '../contract/index.ts'
import type { Fetch } from './fetch.ts'
import { type Signal, wait } from './signal.ts'

/**
 * The options of `createClient`. Another option is invalid. Credentials and address may be undefined in the
 * types, since an environment variable may be; `createClient` refuses that.
 */
export type ClientOptions = {
  /** The customer's ID, 1 to 256 characters. White space at its ends is removed, as it is from the keys. */
  readonly customerId: string | undefined
  /** The secret key, 1 to 256 characters. For servers only: never give it to a page. */
  readonly restKey: string | undefined
  /** 6 to 20 characters. Needed for the tracking events, and the default of serveJavascript. */
  readonly trackingKey?: string | undefined
  /**
   * The address of the gateway, such as `https://gateway.example`, with a path if it has one, without
   * `apiPath` and `trackingPath`.
   */
  readonly baseUrl: string | undefined
  /** Path before those of campaigns and of sendCustomApi. @default '/api/v1' */
  readonly apiPath?: string | undefined
  /** Path before those of tracking events and of serveJavascript. @default '/t' */
  readonly trackingPath?: string | undefined
  /**
   * Event names in place of the usual ones, by operation: `{ addToCart: 'de_add_to_cart' }`. The `event` of a
   * payload wins over both.
   */
  readonly events?:
    | { readonly [O in Exclude<TrackingOperation, 'sendCustom'>]?: string | undefined }
    | undefined
  /** ms that one request may take, with the body of its answer; 1 to 2,147,483,647. @default 10_000 */
  readonly timeoutMs?: number | undefined
  /** Retries after the first request, 0 to 10. @default 2 */
  readonly retries?: number | undefined
  /** @default globalThis.fetch, looked up at each request */
  readonly fetch?: Fetch | undefined
  /** ms since 1970. @default Date.now */
  readonly now?: (() => number) | undefined
}

/** The last argument of every operation. Another option is invalid. */
export type CallOptions = {
  /** Ends the call. The error then is an ApiException with `status: 0`, its `cause` the signal's reason. */
  readonly signal?: Signal | null | undefined
  /** As in `createClient`, for this call. */
  readonly timeoutMs?: number | undefined
  /** As in `createClient`, for this call. */
  readonly retries?: number | undefined
}

const MAX_CREDENTIAL_CHARACTERS = 256
/** A timer of more milliseconds than this fires at once. */
const MAX_TIMEOUT_MS = 2_147_483_647
const MAX_RETRIES = 10

const trim = (text: string): string => text.trim()
const isWithin = (value: unknown, min: number, max: number): boolean =>
  typeof value === 'number' && value >= min && value <= max
const textRule = (is: (text: string) => boolean, what: string, convert = trim) =>
  rule((value) => typeof value === 'string' && is(value), what, convert)

const credential = textRule(
  (text) =>
    !!trim(text) && !isLongerThan(trim(text), MAX_CREDENTIAL_CHARACTERS) && isWellFormed(text),
  `text of 1 to ${MAX_CREDENTIAL_CHARACTERS} characters that is not blank`,
)
const trackingKey = textRule(
  (text) => validate('serveJavascript', { trackingKey: trim(text) }).ok && isWellFormed(text),
  'a tracking key of 6 to 20 characters, not blank',
)
const address = textRule(
  (text) => !!toAddress(text),
  'an http or https address without user, password, query and fragment',
  toAddress,
)
const path = textRule(
  (text) => isPath(toPath(text)),
  'a path without query, fragment, dots and white space, such as /api/v1',
  toPath,
)
const eventName = textRule(
  (text) => !!trim(text),
  'text that is not blank',
  (text) => text,
)
const timeoutMs = rule<number>(
  (value) => isWithin(value, 1, MAX_TIMEOUT_MS),
  `milliseconds from 1 to ${MAX_TIMEOUT_MS}`,
  Math.floor,
)
const retries = rule<number>(
  (value) => Number.isInteger(value) && isWithin(value, 0, MAX_RETRIES),
  `a whole number from 0 to ${MAX_RETRIES}`,
)
const functionOf = <F>() => rule<F>((value) => typeof value === 'function', 'a function')

/** Looked up at each request, so that a fetch that is replaced later counts. */
const runtimeFetch: Fetch = (url, init) => fetch(url, init)

const { sendCustom: _, ...usualNames } = EVENT_NAMES
const eventEntries = Object.entries(usualNames).map(([operation, usual]) => [
  operation,
  optional(eventName, usual),
])

const clientSchema = object({
  customerId: credential,
  restKey: credential,
  trackingKey: optional(trackingKey),
  baseUrl: address,
  apiPath: optional(path, '/api/v1'),
  trackingPath: optional(path, '/t'),
  events: object(Object.fromEntries(eventEntries)),
  timeoutMs: optional(timeoutMs, 10_000),
  retries: optional(retries, 2),
  fetch: optional(functionOf<Fetch>(), () => runtimeFetch),
  now: optional(functionOf<() => number>(), () => Date.now),
})

const callSchema = object({
  signal: optional(
    rule<Signal>(
      // `aborted` throws if the object only inherits from AbortSignal.prototype.
      (value) => value instanceof AbortSignal && typeof value.aborted === 'boolean',
      'an AbortSignal',
    ),
  ),
  timeoutMs: optional(timeoutMs),
  retries: optional(retries),
})

type Limits = { readonly timeoutMs: number; readonly retries: number }

/** The options of a client, checked and completed. */
export type Settings = Limits & {
  readonly customerId: string
  readonly restKey: string
  readonly trackingKey?: string | undefined
  /** Without a slash at the end, like the next. */
  readonly apiUrl: string
  readonly trackingUrl: string
  /** The event name of each operation; empty if every call has to give it. */
  readonly events: { readonly [O in TrackingOperation]: string }
  readonly fetch: Fetch
  readonly now: () => number
  /** Resolves after so many ms, or as soon as the signal aborts. */
  readonly wait: typeof wait
}

/** The options of one call, checked and completed. */
export type CallSettings = Limits & { readonly signal: Signal | undefined }

/**
 * Checks the options of a client and completes them.
 *
 * @throws ValidationException with every issue.
 */
export function readClientOptions(options: unknown): Settings {
  const { issues, fields } = read(clientSchema, options)
  const { baseUrl, apiPath, trackingPath, events, ...rest } = fields
  const repeated = [apiPath, trackingPath].find(
    (path) => path && baseUrl && new URL(baseUrl).pathname.endsWith(path),
  )
  if (repeated) {
    const message = `Expected an address without ${repeated} at its end, which the client adds, received one with it`
    issues.push({ path: 'baseUrl', message })
  }
  if (issues.length) throw new ValidationException(issues)
  const urls = { apiUrl: baseUrl + apiPath, trackingUrl: baseUrl + trackingPath }
  return { ...rest, ...urls, events: { ...EVENT_NAMES, ...events }, wait }
}

/** Checks the options of one call and completes them from the client's. */
export function readCallOptions(
  options: unknown,
  usual: Limits,
): { readonly issues: readonly Issue[]; readonly call: CallSettings } {
  const { issues, fields } = read(callSchema, options)
  const { signal, timeoutMs = usual.timeoutMs, retries = usual.retries } = fields
  return { issues, call: { signal, timeoutMs, retries } }
}

/**
 * Reads options by a schema. Never throws. An issue does not show the value, which may be a key in the wrong place. Only
 * the number of a limit is shown.
 *
 * @returns The issues, and the fields, which are complete only without issues.
 */
function read<E extends ObjectEntries>(schema: ObjectSchema<E, undefined>, options: unknown) {
  const issues: Issue[] = []
  let fields: unknown = {}
  try {
    const given = pick(schema.entries, options, '', issues)
    const checked = check(schema, given)
    if (checked.ok) fields = checked.payload
    else
      for (const { path, message } of checked.error.issues) {
        const value = path
          .split('.')
          .reduce<Given | undefined>((value, name) => value?.[name], given)
        const isHidden = typeof value !== 'number' || !/^(timeoutMs|retries)$/.test(path)
        issues.push({ path, message: `${message}, received ${describeValue(value, isHidden)}` })
      }
  } catch {
    const message = 'Expected options that can be read, received ones that throw'
    issues.push({ path: '', message })
  }
  return { issues, fields: fields as InferOutput<ObjectSchema<E, undefined>> }
}

type Given = { [name: string]: Given }

/** The options that a schema names, each read once, inherited ones too. An unknown one is an issue. */
function pick(entries: ObjectEntries, options: unknown, at: string, issues: Issue[]): Given {
  const names = Object.keys(entries)
  const all = `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`
  const refuse = (path: string, expected: string, received: string) =>
    issues.push({ path, message: `Expected ${expected}, received ${received}` })
  // A module too: its exports may be the options.
  const isObject = /^(Object|Module|Undefined|Null)$/.test(tagOf(options))
  if (!isObject) refuse(at.slice(0, -1), 'an object', describeValue(options, true))
  const given = isObject ? Object(options) : {}
  for (const name of Object.keys(given))
    if (!names.includes(name)) refuse(at + name, all, 'an unknown option')
  const pickOne = (name: string) => {
    const { entries: inner } = entries[name] as { readonly entries?: ObjectEntries }
    const value = given[name] ?? undefined
    return [name, inner ? pick(inner, value, `${at}${name}.`, issues) : value]
  }
  return Object.fromEntries(names.map(pickOne))
}

/** Without a slash at the end. Empty if the text is not an address, or has a part that is not allowed. */
function toAddress(value: string): string {
  try {
    const { protocol, username, password, search, hash, origin, pathname } = new URL(value.trim())
    const isBase = /^https?:$/.test(protocol) && !(username || password || search || hash)
    return isBase ? origin + pathname.replace(/\/+$/, '') : ''
  } catch {
    return ''
  }
}

/** With a slash at its start and none at its end. */
function toPath(text: string): string {
  return `/${text}`.replace(/^\/+/, '/').replace(/\/+$/, '')
}

/** False if it would change other parts of an address, or if the URL parser would write it differently. */
function isPath(path: string): boolean {
  const base = 'http://host.example'
  return new URL(base + path).href.replace(/\/$/, '') === base + path && !/[?#]/.test(path)
}
