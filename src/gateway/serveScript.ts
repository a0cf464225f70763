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

/** Scripts kept ready, one a key, form and address, some 30 kB each. */
const MAX_CACHED = 300

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
type Media = 'js' | 'json'
type Encoding = 'br' | 'gzip' | 'identity'
/** One key's answer, ready in every encoding. */
type Ready = { readonly configText: string; readonly forms: Promise<Record<Encoding, Encoded>> }

/**
 * GET /t/j/{key}: the script with the key's public configuration behind it, to a browser as JavaScript,
 * to a caller that asks for application/json as `{trackingKey, version, integrity, config, script}`.
 * Compressed once and kept: compressing for each request cost 16 times as much.
 *
 * @param version Version of the package, told in the JSON form.
 */
export function createServeScript(
  customers: Customers,
  files: ScriptFiles,
  addresses: Addresses,
  version: string,
) {
  const cache = new Map<string, Ready>()

  return async function serveScript(
    request: Request,
    peer: string,
    trackingKey: string,
  ): Promise<Response> {
    const media = wantsJson(request) ? 'json' : 'js'
    const customer = customers.findByTrackingKey(trackingKey)
    if (!customer) return notFound(media)
    const encoding = chooseEncoding(request.headers.get('accept-encoding'))
    const forms = await ready(customer, addresses.base(request, peer), media)
    const { bytes, headers } = forms[encoding]
    if (matches(request.headers.get('if-none-match'), headers.etag as string)) {
      const { 'content-length': _, 'content-encoding': __, 'content-type': ___, ...rest } = headers
      return new Response(null, { status: 304, headers: rest })
    }
    return new Response(bytes, { status: 200, headers })
  }

  function ready(customer: Customer, base: string, media: Media): Ready['forms'] {
    const { trackingKey, configText } = customer
    const name = `${trackingKey} ${media} ${base}`
    const kept = cache.get(name)
    if (kept?.configText === configText) return kept.forms
    const made = { configText, forms: compose(customer, base, media) }
    cache.delete(name)
    cache.set(name, made)
    if (cache.size > MAX_CACHED) cache.delete(cache.keys().next().value as string)
    return made.forms
  }

  async function compose(
    customer: Customer,
    base: string,
    media: Media,
  ): Promise<Record<Encoding, Encoded>> {
    const { trackingKey } = customer
    const config = { batch: true, base, ...customer.config, key: trackingKey }
    const parts = partsOf(customer.config).flatMap((name) => {
      const part = files.parts.get(name)
      return part ? [`${name}:${part}`] : []
    })
    const script = `${files.track}(${toSource(config)},{${parts.join()}});`
    if (media === 'js') return encode(script, 'text/javascript; charset=utf-8')
    const integrity = `sha384-${createHash('sha384').update(script).digest('base64')}`
    return encode(
      JSON.stringify({ trackingKey, version, integrity, config, script }),
      'application/json; charset=utf-8',
    )
  }
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

async function encode(text: string, type: string): Promise<Record<Encoding, Encoded>> {
  const raw = Buffer.from(text)
  const hash = createHash('sha256').update(raw).digest('base64url').slice(0, 22)
  const [br, gz] = await Promise.all([
    promisify(brotliCompress)(raw, {
      params: {
        [constants.BROTLI_PARAM_QUALITY]: 11,
        [constants.BROTLI_PARAM_SIZE_HINT]: raw.length,
      },
    }),
    promisify(gzip)(raw, { level: 9 }),
  ])
  const form = (bytes: Buffer, encoding: Encoding): Encoded => ({
    bytes: new Uint8Array(bytes),
    headers: {
      ...CACHE_HEADERS,
      'content-type': type,
      'content-length': String(bytes.length),
      // Strong, so each encoding has its own (RFC 9110, 8.8.3.3).
      etag: `"${hash}-${encoding}"`,
      ...(encoding !== 'identity' && { 'content-encoding': encoding }),
    },
  })
  return { br: form(br, 'br'), gzip: form(gz, 'gzip'), identity: form(raw, 'identity') }
}

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
