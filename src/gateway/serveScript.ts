import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { Addresses } from './address.ts'
import { OPEN_HEADERS, refuse } from './answers.ts'
import type { Customer, Customers } from './customers.ts'
import type { PublicConfig } from './publicConfig.ts'

/** What the build wrote for pages. */
export type ScriptFiles = {
  /** One expression: a function of the configuration and the parts. */
  readonly track: string
  /** The optional parts by name, one expression each. */
  readonly parts: ReadonlyMap<string, string>
  /** The script that debug mode loads; empty where it was not built. */
  readonly inspector: string
}

/**
 * Reads the bundles once.
 *
 * @param folder Where the build wrote them: `track.js`, `parts/{name}.js` and `inspector.js`.
 * @throws Error where the script has not been built.
 */
export function readScriptFiles(folder: string): ScriptFiles {
  const file = join(folder, 'track.js')
  if (!existsSync(file))
    throw new Error(`The script is missing: ${file}. Build it first: npm run build`)
  const partsFolder = join(folder, 'parts')
  const inspector = join(folder, 'inspector.js')
  const names = existsSync(partsFolder) ? readdirSync(partsFolder) : []
  return {
    track: readFileSync(file, 'utf8').trim(),
    inspector: existsSync(inspector) ? readFileSync(inspector, 'utf8') : '',
    parts: new Map(
      names
        .filter((name) => name.endsWith('.js'))
        .map((name) => [
          name.slice(0, -'.js'.length),
          readFileSync(join(partsFolder, name), 'utf8').trim(),
        ]),
    ),
  }
}

/** Which parts a key's configuration adds to the script, in the order in which they start. */
function partsOf(config: PublicConfig): string[] {
  const { pageViews, attributes = true, dataLayer = true, ga4, schemaOrg } = config
  const wanted = {
    pageViews: pageViews !== 'off',
    attributes,
    ga4,
    schemaOrg,
    // The last, since the others read what it reads.
    dataLayer: dataLayer || ga4,
  }
  return Object.entries(wanted).flatMap(([name, isWanted]) => (isWanted ? [name] : []))
}

/** Keys, each in each form, whose scripts are kept ready. */
const MAX_CACHED = 300
/**
 * Addresses of a key whose scripts are kept ready, some 50 kB each. A gateway has one or two; whoever makes
 * up others in the Host header must not make it compress them all, or push the good ones out.
 */
const MAX_BASES = 3
/** A kept address that nobody asked for in so long makes room for another, ms. */
const IDLE_BASE_MS = 60_000

const CACHE_HEADERS = {
  'cache-control': 'public, max-age=300, stale-while-revalidate=86400',
  vary: 'Accept, Accept-Encoding',
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'cross-origin',
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'Retry-After',
}

type Encoded = {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly headers: Record<string, string>
}
/** An answer as it is before it is compressed. */
type Text = { readonly text: string; readonly type: string }
type Media = 'js' | 'json'
type Encoding = 'br' | 'gzip' | 'identity'
/** One key's answer at one address, ready in every encoding. */
type Ready = {
  readonly configText: string
  readonly forms: Promise<Record<Encoding, Encoded>>
  usedAt: number
}

/**
 * GET /t/j/{key}: the script with the key's public configuration behind it, to a browser as JavaScript,
 * to a caller that asks for application/json as `{trackingKey, version, integrity, config, script}`.
 * Compressed once and kept: compressing for each request cost 16 times as much. Above the bounds it is
 * answered all the same, compressed lightly and not kept.
 *
 * @param version Version of the package, told in the JSON form.
 * @param now The clock, ms since 1970.
 */
export function createServeScript(
  customers: Customers,
  files: ScriptFiles,
  addresses: Addresses,
  version: string,
  now: () => number,
) {
  /** By key and form, then by address, each with the least recently used first. */
  const cache = new Map<string, Map<string, Ready>>()

  return async function serveScript(
    request: Request,
    peer: string,
    trackingKey: string,
  ): Promise<Response> {
    const media = wantsJson(request) ? 'json' : 'js'
    const customer = customers.findByTrackingKey(trackingKey)
    if (!customer) return notFound(media)
    const encoding = chooseEncoding(request.headers.get('accept-encoding'))
    const base = addresses.base(request, peer)
    const forms = ready(customer, base, media)
    const { bytes, headers } = forms
      ? (await forms)[encoding]
      : await encodeLightly(compose(customer, base, media), encoding)
    if (matches(request.headers.get('if-none-match'), headers.etag as string)) {
      const { 'content-length': _, 'content-encoding': __, 'content-type': ___, ...rest } = headers
      return new Response(null, { status: 304, headers: rest })
    }
    return new Response(bytes, { status: 200, headers })
  }

  /** The answer in every encoding; undefined where there is no room to keep it. */
  function ready(customer: Customer, base: string, media: Media): Ready['forms'] | undefined {
    const { trackingKey, configText } = customer
    const name = `${trackingKey} ${media}`
    const bases = cache.get(name) ?? new Map<string, Ready>()
    const kept = bases.get(base)
    if (!kept && bases.size >= MAX_BASES) {
      const [oldest, { usedAt }] = [...bases][0] as [string, Ready]
      if (now() - usedAt < IDLE_BASE_MS) return undefined
      bases.delete(oldest)
    }
    const forms =
      kept?.configText === configText ? kept.forms : encode(compose(customer, base, media))
    setLast(bases, base, { configText, forms, usedAt: now() })
    setLast(cache, name, bases)
    if (cache.size > MAX_CACHED) cache.delete(cache.keys().next().value as string)
    return forms
  }

  function compose(customer: Customer, base: string, media: Media): Text {
    const { trackingKey } = customer
    const config = { batch: true, base, ...customer.config, key: trackingKey }
    const parts = partsOf(customer.config).flatMap((name) => {
      const part = files.parts.get(name)
      return part ? [`${name}:${part}`] : []
    })
    const script = `${files.track}(${toSource(config)},{${parts.join()}});`
    if (media === 'js') return { text: script, type: 'text/javascript; charset=utf-8' }
    const integrity = `sha384-${createHash('sha384').update(script).digest('base64')}`
    return {
      text: JSON.stringify({ trackingKey, version, integrity, config, script }),
      type: 'application/json; charset=utf-8',
    }
  }
}

/** Sets an entry of a map as the one used last. */
function setLast<T>(map: Map<string, T>, name: string, value: T): void {
  map.delete(name)
  map.set(name, value)
}

/**
 * A configuration as JavaScript source, safe inside any script: no `</script>`, no line separator, and no
 * `__proto__`, which in an object literal is no key but the prototype.
 */
export function toSource(value: unknown): string {
  const json = JSON.stringify(value, (key, inner) => (key === '__proto__' ? undefined : inner))
  return json.replace(
    /[<\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

async function encode({ text, type }: Text): Promise<Record<Encoding, Encoded>> {
  const raw = Buffer.from(text)
  const hash = hashOf(raw)
  const [br, gz] = await Promise.all([
    promisify(brotliCompress)(raw, {
      params: {
        [constants.BROTLI_PARAM_QUALITY]: 11,
        [constants.BROTLI_PARAM_SIZE_HINT]: raw.length,
      },
    }),
    promisify(gzip)(raw, { level: 9 }),
  ])
  return {
    br: toEncoded(br, 'br', type, `${hash}-br`),
    gzip: toEncoded(gz, 'gzip', type, `${hash}-gzip`),
    identity: toEncoded(raw, 'identity', type, `${hash}-identity`),
  }
}

/** One encoding for one request, at the lowest level. */
async function encodeLightly({ text, type }: Text, accepted: Encoding): Promise<Encoded> {
  const raw = Buffer.from(text)
  const hash = hashOf(raw)
  if (accepted === 'identity') return toEncoded(raw, 'identity', type, `${hash}-identity`)
  if (accepted === 'gzip')
    return toEncoded(await promisify(gzip)(raw, { level: 1 }), 'gzip', type, `${hash}-gzip1`)
  const params = { [constants.BROTLI_PARAM_QUALITY]: 1 }
  return toEncoded(await promisify(brotliCompress)(raw, { params }), 'br', type, `${hash}-br1`)
}

const hashOf = (raw: Buffer): string =>
  createHash('sha256').update(raw).digest('base64url').slice(0, 22)

/** @param tag Strong, so each encoding has its own (RFC 9110, 8.8.3.3). */
const toEncoded = (bytes: Buffer, encoding: Encoding, type: string, tag: string): Encoded => ({
  bytes: new Uint8Array(bytes),
  headers: {
    ...CACHE_HEADERS,
    'content-type': type,
    'content-length': String(bytes.length),
    etag: `"${tag}"`,
    ...(encoding !== 'identity' && { 'content-encoding': encoding }),
  },
})

/** A page's script tag says any type is fine; only who names JSON gets JSON. */
const wantsJson = (request: Request): boolean => {
  const accept = request.headers.get('accept')
  return !!accept && qualityOf(accept, 'application/json') > 0
}

function chooseEncoding(header: string | null): Encoding {
  if (!header) return 'identity'
  const br = qualityOf(header, 'br')
  const gz = qualityOf(header, 'gzip')
  if (br > 0 && br >= gz) return 'br'
  return gz > 0 ? 'gzip' : 'identity'
}

/** The weight of a word in a header such as `br;q=0.9, gzip`; 0 where it is not named. */
function qualityOf(header: string, word: string): number {
  for (const item of header.toLowerCase().split(',')) {
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
  header.split(',').some((item) => {
    const tag = item.trim()
    return tag === '*' || tag.replace(/^W\//, '') === etag
  })

function notFound(media: Media): Response {
  if (media === 'json')
    return refuse({ status: 404, message: 'No customer has this tracking key' }, OPEN_HEADERS)
  return new Response('/* No customer has this tracking key. */\n', {
    status: 404,
    headers: {
      ...OPEN_HEADERS,
      'content-type': 'text/javascript; charset=utf-8',
      'cross-origin-resource-policy': 'cross-origin',
      vary: 'Accept, Accept-Encoding',
    },
  })
}

/** GET /t/i.js: the inspector, the script that debug mode loads. */
export function serveInspector(source: string): Response {
  if (!source)
    return new Response('/* The inspector is not built. */\n', {
      status: 404,
      headers: OPEN_HEADERS,
    })
  return new Response(source, {
    headers: { ...CACHE_HEADERS, 'content-type': 'text/javascript; charset=utf-8' },
  })
}
