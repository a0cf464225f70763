import { randomUUID } from 'node:crypto'
import { toUSVString } from 'node:util'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'

/** Public values of a running gateway, so that a part of the requests gets past the first checks. */
export type FuzzTarget = { readonly trackingKey: string; readonly restKey: string }

/** The bytes of one connection, in the pieces in which they are written. */
export type FuzzConnection = {
  readonly pieces: readonly Buffer[]
  /** How many requests were put into it. Its bytes may be damaged, so fewer or more may be read from it. */
  readonly requests: number
  /** Whether the sender closes its side after the last piece. */
  readonly ends: boolean
}

const PATHS = [
  ...['/', '/livez', '/readyz', '/metrics', '/shop/', '/live/', '/live/events', '/live/problems'],
  ...['/live/customers', '/live/login', '/live/logout', '/campaigns/', '/campaigns/data/list'],
  ...['/campaigns/data/campaign', '/campaigns/data/report', '/campaigns/data/create', '/people/'],
  ...['/people/data/find', '/people/data/export', '/people/data/erase', '/people/data/proofs'],
  ...['/forward/', '/forward/data/list', '/forward/data/letters', '/forward/data/preview'],
  ...['/forward/data/mend', '/forward/data/replay', '/forward/data/discard', '/forward/data/pause'],
  ...['/setup/', '/setup/data/snippet', '/t/i.js', '/t/p.js', '/t/j/', '/t/j/NOKEY1', '/t', '/t/'],
  ...['/api/v1/campaigns/list', '/api/v1/campaigns/create', '/api/v1/get-latest-campaign'],
  ...['/api/v1/campaigns/c-1/email/get-report', '/api/v1/campaigns/%2E%2E/email/get-report'],
  ...['/api/v1/custom_events', '/api/v1/problems', '/api/v1/check-api-credentials'],
  ...['/api/v1/check-credentials', '/api/v1/orders', '/favicon.ico', '/robots.txt'],
  ...['/api/v1/save_order', '/api/v1/update_order_status', '/api/v1/add_subscriber'],
  ...['/api/v1/remove_subscriber', '/api/v1/unsubscribed_emails', '/api/v1/product_reviews'],
  '/api/v1/health',
]

const TAKES_POST =
  /^\/t\/(r|batch)|log(in|out)$|\/(find|export|erase|letters|preview|mend|replay|discard|pause|create|check|list|custom_events|check-.*|save_order|\w+_subscriber)$/

const METHODS = ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'PATCH', 'TRACE', 'CONNECT', 'QUERY']
const NO_METHODS = ['post', 'P OST', '', 'G\u00e9T', 'GET\t', 'X'.repeat(300)]
const ODD_TEXTS = [
  ...['', ' ', '\0', '%', '%00', '%zz', '%ff', '%2F..%2F', '../../etc/passwd', '\u{1f600}', '[]'],
  ...['__proto__', 'constructor', 'toString', 'null', 'NaN', '-0', '1e999', '9'.repeat(400)],
  ...["' OR 1=1 --", '<script>alert(1)</script>', '{{7*7}}', '\ud800', '\u202e', 'a'.repeat(9_000)],
]

const oddText = fc.oneof(
  fc.constantFrom(...ODD_TEXTS),
  fc.string({ maxLength: 40 }),
  fc.string({ unit: 'binary', maxLength: 20 }),
)

/** An odd text as a sender of HTTP has to write it; seldom as it is, which no HTTP parser takes. */
const written = (encode: (text: string) => string) =>
  fc.oneof({ weight: 30, arbitrary: oddText.map(encode) }, { weight: 1, arbitrary: oddText })

const inUrl = written((text) => encodeURIComponent(toUSVString(text)))
const inHeader = written((text) => text.replace(/[^\x21-\x7e\xa0-\xff]/g, ''))
const inName = written((text) => text.replace(/[^a-z0-9-]/gi, '') || 'x')

/** One of a list, or seldom an odd text. */
const mostly = (usual: readonly string[], odd: fc.Arbitrary<string> = oddText, weight = 6) =>
  fc.oneof({ weight, arbitrary: fc.constantFrom(...usual) }, { weight: 1, arbitrary: odd })

const json = fc.oneof(
  fc.jsonValue({ maxDepth: 4 }),
  fc.constantFrom<unknown>(null, [], {}, '', 0, [[[[[[]]]]]]),
)

/** A valid payload in which some fields are replaced or missing. */
const payload = fc
  .record({
    base: fc.constantFrom<Record<string, unknown>>(
      { event: 'view_homepage' },
      { event: '__sm__add_to_cart', product_id: 7, quantity: 1, variation: { id: '7', sku: 'S' } },
      { event: 'search', search_term: 'mug' },
      { event: 'set_email', email_address: 'a@b.example', firstname: '', lastname: '', phone: '' },
      { event: 'view_product', product_id: '7' },
      { event: 'quiz', email: 'a@b.example' },
    ),
    changed: fc.dictionary(
      fc.oneof(
        fc.constantFrom('did', 'event', 'url', 'http_user_agent', 'remote_addr', 'product_id'),
        fc.constantFrom('quantity', 'variation', 'email', 'email_address', 'search_term', 'source'),
        oddText,
      ),
      fc.oneof(json, oddText, fc.double(), fc.bigInt().map(String)),
      { maxKeys: 3 },
    ),
    isPlain: fc.boolean(),
  })
  .map(({ base, changed, isPlain }) => ({
    did: '7c9f2f4e-1d0b-4a53-9f6e-2f6d3b0c8a11',
    url: 'https://shop.example/?utm_source=a&q=%E0%A4%A',
    http_user_agent: 'Agent/1',
    ...base,
    ...(isPlain ? {} : changed),
  }))

const id = fc.oneof(
  { weight: 12, arbitrary: fc.constant(undefined).map(() => randomUUID()) },
  { weight: 1, arbitrary: inUrl },
)

const batch = fc
  .record({
    sent: fc.oneof(fc.constant(Date.now()), json),
    events: fc.oneof(
      { weight: 8, arbitrary: fc.array(fc.record({ id, at: json, payload }), { maxLength: 12 }) },
      { weight: 2, arbitrary: fc.array(fc.record({ id }), { maxLength: 30 }) },
      { weight: 1, arbitrary: json },
    ),
  })
  .map((one) => one as unknown)

/** Texts that are expensive or impossible to parse. */
const BAD_BODIES = [
  ...['', '{', '{"a":', '['.repeat(5_001), '{"a":'.repeat(3_000), '"\\ud800"', '\ufeff{}'],
  ...['1', 'true', 'null', '[]', '[1,2', '{"a":1}{"b":2}', `[${'0,'.repeat(30_000)}0]`, '\0\0\0'],
  ...[
    'a[b][c]=1&a[]=2',
    'a[[]]=%&=&&',
    `a${'[]'.repeat(2_000)}`,
    '&'.repeat(40_000),
    '__proto__[a]=1',
  ],
  ...[`{"event":"${'x'.repeat(140_000)}"}`, '{"__proto__":{"admin":true},"event":"search"}'],
]

/** A form, mostly of an order. */
const form = fc
  .array(
    fc.tuple(
      mostly([
        'number',
        'total_value',
        'products[0][price]',
        'products[][price]',
        'email',
        'k',
        'u',
      ]),
      mostly(['1', '1,234.50', 'a@b.example', 'demo'], inUrl),
    ),
    { maxLength: 8 },
  )
  .map((pairs) => pairs.map(([name, value]) => `${name}=${value}`).join('&'))

const body = fc.oneof(
  { weight: 6, arbitrary: payload.map((one) => Buffer.from(stringify(one))) },
  { weight: 4, arbitrary: batch.map((one) => Buffer.from(stringify(one))) },
  { weight: 1, arbitrary: json.map((one) => Buffer.from(stringify(one))) },
  { weight: 3, arbitrary: fc.constantFrom(...BAD_BODIES).map((text) => Buffer.from(text)) },
  { weight: 2, arbitrary: form.map((one) => Buffer.from(one)) },
  {
    weight: 1,
    arbitrary: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  },
  { weight: 1, arbitrary: payload.map((one) => gzipSync(stringify(one))) },
)

const stringify = (value: unknown): string => JSON.stringify(value) ?? ''

/** How a body is sent. */
const framing = fc.oneof(
  { weight: 12, arbitrary: fc.constant('length' as const) },
  { weight: 4, arbitrary: fc.constant('chunked' as const) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      'short' as const,
      'long' as const,
      'both' as const,
      'twice' as const,
      'none' as const,
      'negative' as const,
      'badChunk' as const,
    ),
  },
)

function frame(way: typeof framing extends fc.Arbitrary<infer T> ? T : never, bytes: Buffer) {
  const { length } = bytes
  const header = (value: unknown) => `Content-Length: ${value}\r\n`
  const chunks = Buffer.concat([
    Buffer.from(`${length.toString(16)};x=y\r\n`),
    bytes,
    Buffer.from(length ? '\r\n0\r\nTrailer: 1\r\n\r\n' : '\r\n\r\n'),
  ])
  const chunked = 'Transfer-Encoding: chunked\r\n'
  switch (way) {
    case 'length':
      return [header(length), bytes] as const
    case 'chunked':
      return [chunked, chunks] as const
    case 'short':
      return [header(Math.max(0, length - 7)), bytes] as const
    case 'long':
      return [header(length + 100), bytes] as const
    case 'both':
      return [header(length) + chunked, chunks] as const
    case 'twice':
      return [header(length) + header(length + 1), bytes] as const
    case 'none':
      return ['', bytes] as const
    case 'negative':
      return [header(-1), bytes] as const
    case 'badChunk':
      return [chunked, Buffer.from('zz\r\nabc\r\n')] as const
  }
}

const ADDRESSES = ['203.0.113.7', '2001:db8::1', '::ffff:203.0.113.7, 10.0.0.1', '1.2.3.4:80']

const headers = fc
  .record({
    host: mostly(['localhost', '127.0.0.1:80', 'shop.example'], inHeader, 20),
    origin: mostly(
      [
        'http://localhost:1',
        'http://localhost:1',
        'http://localhost:1',
        'https://other.example',
        'null',
        '',
      ],
      inHeader,
      20,
    ),
    type: mostly([
      'text/plain',
      'application/json',
      'application/json; charset=utf-8',
      'application/x-www-form-urlencoded',
      'text/html',
    ]),
    others: fc.array(
      fc.oneof(
        fc.tuple(
          fc.constantFrom(
            ...['accept', 'accept-encoding', 'accept-language', 'authorization', 'cookie', 'dnt'],
            ...['content-encoding', 'expect', 'connection', 'forwarded', 'if-none-match', 'range'],
            ...['keep-alive', 'last-event-id', 'origin', 'referer', 'sec-gpc', 'te', 'upgrade'],
            ...['user-agent', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto'],
          ),
          mostly(
            [
              ...['*/*', 'application/json', 'br, gzip;q=0', 'gzip', 'identity', 'identity;q=0'],
              ...['100-continue', 'close', 'keep-alive', 'upgrade', 'websocket', 'bytes=0-1'],
              ...['W/"x"', '*', 'Bearer x', 'Basic Og==', 'shoptrail=x; a=b', 'Mozilla/5.0'],
              ...ADDRESSES,
              ...['https', 'for=203.0.113.7;proto=https', '1', 'x'.repeat(3_000)],
            ],
            inHeader,
            12,
          ),
        ),
        { arbitrary: fc.tuple(inName, inHeader), weight: 1 },
      ),
      { maxLength: 6 },
    ),
  })
  .map(({ host, origin, type, others }) => [
    ['Host', host],
    ...(origin ? [['Origin', origin]] : []),
    ['Content-Type', type],
    ...others,
  ])

const query = (target: FuzzTarget) =>
  fc
    .array(
      fc.oneof(
        { weight: 12, arbitrary: fc.constant(`k=${target.trackingKey}`) },
        { weight: 1, arbitrary: fc.constant(`k=${target.restKey}&u=demo`) },
        { weight: 1, arbitrary: fc.constant(`api_key=${target.restKey}`) },
        { weight: 3, arbitrary: id.map((text) => `id=${text}`) },
        {
          weight: 4,
          arbitrary: fc
            .tuple(
              fc.constantFrom(
                'at',
                'sent',
                'v',
                'p',
                'consent',
                'domain',
                'customer',
                'after',
                'u',
              ),
              mostly(['0', '1700000000000', 'denied', '0.2.0', 'demo', 'shop.example']),
            )
            .map(([name, value]) => `${name}=${value}`),
        },
        { weight: 1, arbitrary: inUrl },
        { weight: 1, arbitrary: fc.constant('a=1&'.repeat(2_000)) },
      ),
      { maxLength: 5 },
    )
    .map((parts) => (parts.length ? `?${parts.join('&')}` : ''))

const path = (target: FuzzTarget) =>
  fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom('/t/r', '/t/batch') },
    { weight: 3, arbitrary: fc.constant(`/t/j/${target.trackingKey}`) },
    { weight: 1, arbitrary: fc.constant(`/t/j/${target.trackingKey}/${'a'.repeat(32)}.js`) },
    { weight: 8, arbitrary: fc.constantFrom(...PATHS) },
    {
      weight: 2,
      arbitrary: fc.tuple(fc.constantFrom(...PATHS), inUrl).map((two) => two.join('')),
    },
    { weight: 1, arbitrary: inUrl.map((text) => `/${text}`) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        ...['*', 'http://localhost/t/r', 'http://a@b/t/r', '//t/r', '/./t/r', '/t/../t/r', '/T/R'],
        ...['http://[::1', '/t/r;x', '/t/r/', '/t%2Fr', `/${'p'.repeat(20_000)}`, '/t/r#x'],
      ),
    },
  )

/** Bytes of one request. */
const request = (target: FuzzTarget) =>
  fc
    .record({
      method: fc.oneof(
        { weight: 16, arbitrary: fc.constant(undefined) },
        { weight: 2, arbitrary: fc.constant('POST') },
        { weight: 2, arbitrary: fc.constant('GET') },
        { weight: 3, arbitrary: fc.constantFrom(...METHODS) },
        { weight: 1, arbitrary: fc.constantFrom(...NO_METHODS) },
      ),
      path: path(target),
      query: query(target),
      version: fc.oneof(
        { weight: 30, arbitrary: fc.constant('HTTP/1.1') },
        {
          weight: 1,
          arbitrary: fc.constantFrom('HTTP/1.0', 'HTTP/2.0', 'HTTP/0.9', 'http/1.1', ''),
        },
      ),
      headers,
      framing,
      body,
      withBody: fc.boolean(),
    })
    .map((one) => {
      const method = one.method ?? (TAKES_POST.test(one.path) ? 'POST' : 'GET')
      const sends = one.withBody || method === 'POST'
      const [lengths, bytes] = sends ? frame(one.framing, one.body) : ['', Buffer.alloc(0)]
      const lines = one.headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')
      const head = `${method} ${one.path}${one.query} ${one.version}\r\n${lines}${lengths}\r\n`
      return Buffer.concat([Buffer.from(head, 'utf8'), bytes])
    })

/** Damages of the bytes of a connection. */
const damage = fc.oneof(
  { weight: 8, arbitrary: fc.constant(undefined) },
  {
    weight: 1,
    arbitrary: fc.record({ at: fc.double({ min: 0, max: 1, noNaN: true }), byte: fc.nat(255) }),
  },
  { weight: 1, arbitrary: fc.record({ cut: fc.double({ min: 0, max: 1, noNaN: true }) }) },
)

/** Connections with one to five requests each, written whole or in pieces, one after the other or all at once. */
export const fuzzConnections = (target: FuzzTarget): fc.Arbitrary<FuzzConnection> =>
  fc
    .record({
      requests: fc.array(request(target), { minLength: 1, maxLength: 5 }),
      damage,
      pieces: fc.oneof(
        { weight: 4, arbitrary: fc.constant(1) },
        { weight: 1, arbitrary: fc.integer({ min: 2, max: 6 }) },
      ),
      ends: fc.boolean(),
    })
    .map(({ requests, damage: harm, pieces, ends }) => {
      let bytes = Buffer.concat(requests)
      if (harm && 'byte' in harm) bytes[Math.floor(harm.at * (bytes.length - 1))] = harm.byte
      if (harm && 'cut' in harm) bytes = bytes.subarray(0, Math.ceil(harm.cut * bytes.length))
      const size = Math.max(1, Math.ceil(bytes.length / pieces))
      const parts: Buffer[] = []
      for (let at = 0; at < bytes.length; at += size) parts.push(bytes.subarray(at, at + size))
      return { pieces: parts, requests: requests.length, ends }
    })
