import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { LRUCache } from 'lru-cache'
import { asksConsent, consentConfig } from '../../contract/consentConfig.ts'
import type { KeySettings } from '../../contract/settings.ts'
import type { Admission } from '../collect/admission.ts'
import type { CustomerLookup } from '../customers/customerLookup.ts'
import type { Customer } from '../customers/customers.ts'
import type { Addresses } from '../http/address.ts'
import {
  type Answer,
  jsonAnswer,
  OPEN_HEADERS,
  type Refusal,
  refusalAnswer,
} from '../http/answers.ts'
import { createRateLimit, type Rate } from '../http/rateLimit.ts'
import type { RequestHead } from '../http/requestHead.ts'
import { version } from '../lib/version.ts'
import type { Problems } from '../problems/recorder.ts'
import { toAdoptSource } from './adoptSource.ts'

/** The scripts that the build has written. */
export type ScriptFiles = {
  /** By the name of the set of parts (`scriptName`). Each is one expression, a function of the configuration. */
  readonly scripts: ReadonlyMap<string, string>
  /** The scripts that a page loads later, by the name of their file. */
  readonly further: ReadonlyMap<string, string>
}

/** Scripts that a page loads later: in debug mode, and if it has certain attributes. */
const FURTHER = ['inspector', 'presence']

/**
 * Reads the bundles once.
 *
 * @param folder Folder of the build: `track/{set of parts}.js`, `inspector.js`, `presence.js`.
 * @throws Error if the script has not been built.
 */
export function readScriptFiles(folder: string): ScriptFiles {
  const scriptFolder = join(folder, 'track')
  const names = existsSync(scriptFolder) ? readdirSync(scriptFolder) : []
  if (!names.includes('core.js'))
    throw new Error(`The script is missing: ${scriptFolder}/core.js. Build it first: npm run build`)
  return {
    scripts: new Map(
      names
        .filter((name) => name.endsWith('.js'))
        .map((name) => [
          name.slice(0, -'.js'.length),
          readFileSync(join(scriptFolder, name), 'utf8').trim(),
        ]),
    ),
    further: new Map(
      FURTHER.map((name) => [name, join(folder, `${name}.js`)] as const)
        .filter(([, file]) => existsSync(file))
        .map(([name, file]) => [name, readFileSync(file, 'utf8')]),
    ),
  }
}

/**
 * Name of the smallest script that has the parts that a configuration needs: `core`, `pageViews-attributes-dataLayer`. It
 * may have parts that the configuration does not need; these do nothing.
 */
export function scriptName(config: KeySettings): string {
  const { pageViews, attributes = true, dataLayer = true, ga4, schemaOrg } = config
  const { consentSources = [], exclude = [], cookieDomain, firstParty } = config
  const needsCookie = cookieDomain || firstParty
  // deviceCookie is built only together with consent, and consent only together with the default parts.
  const needsConsent = needsCookie || asksConsent(config) || exclude.length
  const wanted = {
    deviceCookie: needsCookie,
    consent: needsConsent,
    // It contains `exclude` too.
    consentSources: consentSources.length || exclude.length,
    pageViews: pageViews !== 'off' || needsConsent,
    attributes: attributes || needsConsent,
    ga4,
    schemaOrg,
    // ga4 reads the dataLayer.
    dataLayer: dataLayer || ga4 || needsConsent,
  }
  const parts = Object.entries(wanted).flatMap(([name, isWanted]) => (isWanted ? [name] : []))
  return parts.join('-') || 'core'
}

/** Keys whose scripts are cached, about 50 kB each. */
const MAX_CACHED = 300

/**
 * How many scripts are compressed with the best quality, which takes 30 ms of CPU. Requests for more keys in turn than
 * are cached could keep all cores busy. Above this rate a script is compressed in 1 ms and is 7 % larger.
 */
export const BEST_COMPRESSIONS: Rate = { perSecond: 2, burst: MAX_CACHED }
const BEST_QUALITY = constants.BROTLI_MAX_QUALITY
const FAST_QUALITY = 5

const SHARED_HEADERS = {
  vary: 'Accept, Accept-Encoding',
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'cross-origin',
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'Retry-After',
}
const CACHE_HEADERS = {
  ...SHARED_HEADERS,
  'cache-control': 'public, max-age=300, stale-while-revalidate=86400',
}
/**
 * The JSON form has the same address. Caches that ignore `Vary: Accept` would send it to pages.
 */
const PRIVATE_HEADERS = {
  ...SHARED_HEADERS,
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'private, no-store',
  // The inspector compares the clock of the browser with that of the gateway.
  'access-control-expose-headers': 'Date, Retry-After',
}
const SCRIPT_TYPE = 'text/javascript; charset=utf-8'
/** Headers of every script, without those about caches. */
export const SCRIPT_HEADERS = {
  'content-type': SCRIPT_TYPE,
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'cross-origin',
  'access-control-allow-origin': '*',
}

/** The answers that give a script in one encoding. */
type Encoded = {
  readonly etag: string
  readonly whole: Answer
  /** 304. */
  readonly unchanged: Answer
}
type Encoding = 'br' | 'gzip' | 'identity'
/** A script in every encoding. */
export type Forms = Record<Encoding, Encoded>
/** One key's script. */
type Ready = {
  readonly configText: string
  /** A Promise until it is compressed. */
  forms: Forms | Promise<Forms>
}

export type ScriptDependencies = {
  readonly customers: CustomerLookup
  readonly script: ScriptFiles
  readonly addresses: Addresses
  readonly admission: Pick<Admission, 'script'>
  readonly problems: Pick<Problems, 'unknownKey'>
  /** The gateway's public address, if it is configured. */
  readonly publicUrl: string | undefined
  /** A monotonic clock, ms. */
  readonly monotonicNow: () => number
}

/**
 * GET /t/j/{key}: the script, followed by the key's public configuration. A browser gets JavaScript. A caller that
 * accepts application/json gets `{trackingKey, version, integrity, config, script}`.
 *
 * The JavaScript is in public caches, so it does not depend on the request: it contains the gateway's address only if
 * PUBLIC_URL is set. Without it, the page takes the address from its script tag. The JSON form is for a server that
 * inlines the script, and is not cached: without PUBLIC_URL it contains the address of the request.
 *
 * The JavaScript is compressed once: compressing it for each request cost 16 times as much. The JSON is not compressed.
 */
export function createServeScript(
  dependencies: ScriptDependencies,
  bestCompressions = BEST_COMPRESSIONS,
) {
  const { customers, script: files, addresses, admission, publicUrl, problems } = dependencies
  const cache = new LRUCache<string, Ready>({ max: MAX_CACHED })
  const rates = { events: bestCompressions, bytes: bestCompressions }
  const best = createRateLimit(rates, 1, dependencies.monotonicNow)
  const chooseQuality = () => (best.take('all', 1, 0) ? FAST_QUALITY : BEST_QUALITY)

  return function serveScript(
    request: RequestHead,
    peer: string,
    trackingKey: string,
  ): Answer | Promise<Answer> {
    const limited = admission.script(addresses.visitor(request, peer))
    if (limited) return refuseScript(limited, request)
    const customer = customers.findByTrackingKey(trackingKey)
    if (!customer) {
      problems.unknownKey(request, trackingKey)
      return refuseScript(NOT_FOUND, request)
    }
    if (wantsJson(request))
      return jsonAnswer(200, toJson(customer, addresses.base(request, peer)), PRIVATE_HEADERS)
    const forms = ready(customer)
    return forms instanceof Promise
      ? forms.then((encoded) => respond(request, encoded))
      : respond(request, forms)
  }

  function ready(customer: Customer): Ready['forms'] {
    const { trackingKey, configText } = customer
    const kept = cache.get(trackingKey)
    if (kept?.configText === configText) return kept.forms
    const { script } = composeScript(files, customer, publicUrl)
    const forms = encode(script, CACHE_HEADERS, chooseQuality())
    const made: Ready = { configText, forms }
    cache.set(trackingKey, made)
    return forms.then((encoded) => {
      made.forms = encoded
      return encoded
    })
  }

  /** The JSON form. */
  function toJson(customer: Customer, base: string) {
    const { config, script } = composeScript(files, customer, base)
    const integrity = `sha384-${createHash('sha384').update(script).digest('base64')}`
    return { trackingKey: customer.trackingKey, version, integrity, config, script }
  }
}

/**
 * The script of a customer's key: the bundle with the parts that its settings need, called with them.
 *
 * @param base The gateway's address. Undefined: the page takes it from the tag.
 * @throws Error if the bundle has not been built.
 */
export function composeScript(
  files: ScriptFiles,
  customer: Pick<Customer, 'config' | 'trackingKey'>,
  base: string | undefined,
) {
  const config = {
    batch: true,
    ...(base && { base }),
    ...customer.config,
    adoptDid: toAdoptSource(customer.config),
    ...consentConfig(customer.config),
    key: customer.trackingKey,
  }
  const name = scriptName(customer.config)
  const script = files.scripts.get(name)
  if (!script) throw new Error(`The script ${name} is not built`)
  return { config, script: `${script}(${toSource(config)});` }
}

/**
 * A configuration as JavaScript source that is safe inside any script: without `</script>`, line separators, and
 * `__proto__`, which would set the prototype in an object literal.
 */
export function toSource(value: unknown): string {
  const json = JSON.stringify(value, (key, inner) => (key === '__proto__' ? undefined : inner))
  return json.replace(
    /[<\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/**
 * Compresses a script for every encoding.
 *
 * @param headers The headers of each answer.
 * @param quality That of brotli. Default: the best.
 */
export async function encode(
  script: string | Uint8Array,
  headers: Readonly<Record<string, string>>,
  quality = BEST_QUALITY,
): Promise<Forms> {
  const raw = Buffer.from(script)
  const [br, gz] = await Promise.all([
    promisify(brotliCompress)(raw, {
      params: {
        [constants.BROTLI_PARAM_QUALITY]: quality,
        [constants.BROTLI_PARAM_SIZE_HINT]: raw.length,
      },
    }),
    promisify(gzip)(raw, { level: 9 }),
  ])
  const hash = createHash('sha256').update(raw).digest('base64url').slice(0, 22)
  function toEncoded(bytes: Buffer, encoding: Encoding, form: string = encoding): Encoded {
    // A strong tag, so each encoding has its own (RFC 9110, 8.8.3.3).
    const etag = `"${hash}-${form}"`
    const shared = { ...headers, etag }
    const ofBody = {
      'content-type': SCRIPT_TYPE,
      'content-length': `${bytes.length}`,
      ...(encoding !== 'identity' && { 'content-encoding': encoding }),
    }
    return {
      etag,
      whole: { status: 200, headers: { ...shared, ...ofBody }, body: Buffer.from(bytes) },
      unchanged: { status: 304, headers: shared, body: null },
    }
  }
  return {
    br: toEncoded(br, 'br', `br${quality}`),
    gzip: toEncoded(gz, 'gzip'),
    identity: toEncoded(raw, 'identity'),
  }
}

/** A script in the encoding that the request prefers, or 304 if the request has its tag. */
export function respond(request: RequestHead, forms: Forms): Answer {
  const { etag, whole, unchanged } = forms[chooseEncoding(request.headers.get('accept-encoding'))]
  return matches(request.headers.get('if-none-match'), etag) ? unchanged : whole
}

/** A script tag accepts any type, so only a request that names JSON gets JSON. */
const wantsJson = (request: RequestHead): boolean => {
  const accept = request.headers.get('accept')
  return !!accept && /json/i.test(accept) && qualityOf(accept, 'application/json') > 0
}

/** By Accept-Encoding: browsers send a few different ones, and to read one takes a microsecond. */
const chosen = new LRUCache<string, Encoding>({ max: 100 })

function chooseEncoding(header: string | null): Encoding {
  if (!header) return 'identity'
  const list = header.slice(0, MAX_LIST_LENGTH)
  const known = chosen.get(list)
  if (known) return known
  const br = qualityOf(list, 'br')
  const gz = qualityOf(list, 'gzip')
  const encoding = br > 0 && br >= gz ? 'br' : gz > 0 ? 'gzip' : 'identity'
  chosen.set(list, encoding)
  return encoding
}

/** The part of a header with a list that is read, characters. Browsers send 200. */
export const MAX_LIST_LENGTH = 1_024

/** The quality of a word in a header such as `br;q=0.9, gzip`. 0 if it is missing. */
function qualityOf(header: string, word: string): number {
  for (const item of header.slice(0, MAX_LIST_LENGTH).toLowerCase().split(',')) {
    const [name, ...parameters] = item.split(';').map((part) => part.trim())
    if (name !== word) continue
    const q = parameters.find((parameter) => parameter.startsWith('q='))
    return q ? Number(q.slice(2)) || 0 : 1
  }
  return 0
}

/** If-None-Match compares weakly (RFC 9110, 13.1.2): proxies that recompress add `W/`. */
const matches = (header: string | null, etag: string): boolean =>
  !!header &&
  (header === etag ||
    header
      .slice(0, MAX_LIST_LENGTH)
      .split(',')
      .some((item) => {
        const tag = item.trim()
        return tag === '*' || tag.replace(/^W\//, '') === etag
      }))

export const NOT_FOUND: Refusal = {
  ok: false,
  status: 404,
  message: 'No customer has this tracking key',
}

const NOT_BUILT: Refusal = { ok: false, status: 404, message: 'This script is not built' }

/**
 * A refusal as JSON or, for a page, as a JavaScript comment, so that its developer finds the reason in place of the
 * script.
 */
export function refuseScript(refusal: Omit<Refusal, 'ok'>, request: RequestHead): Answer {
  const { status, message, retryAfterSeconds } = refusal
  const headers = { ...OPEN_HEADERS, vary: SHARED_HEADERS.vary }
  if (wantsJson(request)) return refusalAnswer(refusal, headers)
  return {
    status,
    headers: {
      ...headers,
      'content-type': SCRIPT_TYPE,
      'cross-origin-resource-policy': 'cross-origin',
      ...(retryAfterSeconds && { 'retry-after': `${retryAfterSeconds}` }),
    },
    body: `/* ${message.replaceAll('*/', '* /')}. */\n`,
  }
}

/**
 * A script that is the same for every page: GET /t/i.js, the inspector, which debug mode loads, and GET /t/p.js, which
 * reports the elements with `load` and `visible`. It is compressed once, at the first request.
 *
 * @param source Undefined if it was not built.
 */
export function createServeFile(source: string | undefined) {
  let forms: ReturnType<typeof encode> | undefined
  return async (request: RequestHead): Promise<Answer> => {
    if (source === undefined) return refuseScript(NOT_BUILT, request)
    forms ??= encode(source, CACHE_HEADERS)
    return respond(request, await forms)
  }
}
