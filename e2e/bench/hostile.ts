// The cost of the worst texts that anyone may send, CPU time in ms: for every rule of the contract, a whole payload of
// every operation, finding the operation, isbot, reading a body, and masking an address, in the page and on arrival.
// Texts of many kinds, as long as the rule allows and as long as a request may be. The best of several runs counts, so
// that a busy machine changes little. Exits with 1 if an event costs more than 2 ms, or a batch of a mebibyte more than
// 30 ms.
import { isbot } from 'isbot'
import {
  findOperation,
  MAX_EVENT_BYTES,
  type Operation,
  validate,
} from '../../src/contract/index.ts'
import { maskUrl, namesToMask } from '../../src/contract/maskUrl.ts'
import {
  areTooManyParameters,
  MAX_BATCH_PARAMETERS,
  maskArrived,
  maskingCostOf,
} from '../../src/gateway/collect/privacy.ts'
import { readJson } from '../../src/gateway/http/body.ts'
import { completePayloads } from '../../src/test/payloads.ts'
import { line } from '../benchPages.ts'

/** A valid payload of each operation, without those whose fields equal another operation's. */
const {
  initiateCheckout: _,
  removeFromCart: __,
  addToWishlist: ___,
  removeFromWishlist: ____,
  getLatestCampaign: _____,
  ...distinct
} = completePayloads
const payloads: { readonly [O in Operation]?: Given } = {
  ...distinct,
  // The product id as text, since a text may be long.
  addToCart: { ...distinct.addToCart, product_id: '42' },
}
const operations = Object.entries(payloads) as readonly [Operation, Given][]
type Given = { readonly [field: string]: unknown }

const MAX_EVENT_MS = 2
const MAX_BATCH_MS = 30
const MAX_BATCH_BYTES = 2 ** 20
const MAX_BATCH_EVENTS = 500
/** A cost below this share of its limit is not measured again. */
const SURE = 1 / 8

/** Different ideographs: converting a host to ASCII takes longer for them than for a repeated one. */
const ideographs = Array.from({ length: 20_000 }, (_, at) => String.fromCodePoint(0x4e00 + at))
const repeated = [
  ...['a', 'aA', 'é', '字', '😀', '\ud800', '\udc00', '\u0301', 'a\u0301\u0323', 'ａ', 'ﷺ', 'ا'],
  ...['\u1100\u1161\u11a8', '\u00ad', '\u200d', '\u200b', '\ufe0f', '\u115f', 'xn--', 'xn--a-.'],
  ...[
    ' ',
    '\t',
    '\n',
    '\0',
    '\u0085',
    '\u2028',
    '.',
    '..',
    '-',
    '--',
    '_',
    '@',
    '%',
    '#',
    '?',
    '&',
  ],
  ...['=', ';', '/', '\\', ':', '+', "'", '"', '{', '[', '(', '<', ',', '!', '0', '9', '1e', '*'],
  ...[
    'a.',
    'a-',
    '-a',
    'a@',
    '@a',
    'a@.',
    'a.-',
    'a b',
    'a=b&',
    '?a=',
    '&a=?',
    '&%',
    '&%=',
    '&a=%',
  ],
  ...[
    '%41',
    '%E5%AD%97',
    '%80',
    '%C0',
    '%25',
    '%2525',
    '%3F',
    '%3Fa%3D',
    '%40',
    '&a@',
    '@=',
    '&a@=',
    '&a=%2525252541',
    '&author=%2525252541',
    '&a=%26b%3D%2525',
  ],
  ...[
    '&token=',
    '&access_',
    '&email=a@b;',
    'bot',
    'Mozilla/5.0 (',
    'compatible; ',
    'http://',
    '(?:',
  ],
  ...[
    'remove',
    'wish',
    'add_to_cart',
    '_search',
    'https://',
    'https:/',
    'access_',
    'login_',
    'sess',
  ],
]
type Text = { readonly kind: string; readonly make: (characters: number) => string }
const kinds: readonly Text[] = [
  {
    kind: 'different ideographs',
    make: (length) =>
      Array.from({ length }, (_, at) => ideographs[at % ideographs.length]).join(''),
  },
  {
    kind: 'labels of ideographs',
    make: (length) =>
      Array.from({ length }, (_, at) => (at % 60 === 59 ? '.' : ideographs[at % 19_997])).join(''),
  },
  ...repeated.map((piece) => ({
    kind: piece.replace(/[^ -~]/gu, (odd) => `\\u{${odd.codePointAt(0)?.toString(16)}}`),
    make: (length: number) => piece.repeat(Math.ceil(length / piece.length)).slice(0, length),
  })),
]
const STARTS = ['', 'https://', 'https://a@', 'https://a/', 'https://a/?', 'a@', 'a@a.', '1']
const ENDS = ['', '!', '@', '=']

type Named = readonly [kind: string, text: string]

/** Texts of every kind with every start and end, within a number of characters and of bytes of JSON. */
function* textsOf(
  characters: number,
  bytes: number,
  starts: readonly string[] = [''],
  ends: readonly string[] = [''],
): Generator<Named> {
  for (const { kind, make } of kinds) {
    const middle = cutTo(make(characters), characters - 20, bytes - 20)
    for (const start of starts)
      for (const end of ends) yield [`${start}${kind}...${end}`, start + middle + end]
  }
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))

function cutTo(text: string, characters: number, bytes: number): string {
  const cut = [...text.slice(0, 2 * characters)].slice(0, characters).join('')
  const each = bytesOf(cut) / cut.length
  return each * cut.length <= bytes ? cut : cut.slice(0, Math.floor(bytes / each) - 1)
}

/** CPU time of one run, ms: the best of two, or of eleven if that is not clearly below the limit. */
function costOf(run: () => unknown, limitMs: number): number {
  let best = Number.POSITIVE_INFINITY
  for (let i = 0; i < 11 && (i < 2 || best > limitMs * SURE); i++) {
    const start = process.cpuUsage()
    run()
    const { user, system } = process.cpuUsage(start)
    best = Math.min(best, (user + system) / 1000)
  }
  return best
}

/** CPU time of one asynchronous run, ms: the best of seven. */
async function costOfAsync(run: () => Promise<unknown>): Promise<number> {
  let best = Number.POSITIVE_INFINITY
  for (let i = 0; i < 7; i++) {
    const start = process.cpuUsage()
    await run()
    const { user, system } = process.cpuUsage(start)
    best = Math.min(best, (user + system) / 1000)
  }
  return best
}

let isAbove = false
const print = (what: string, ms: number, limitMs: number, kind: string) => {
  if (ms > limitMs) isAbove = true
  console.log(line(what, ms.toFixed(3), limitMs) + (ms > limitMs ? '  ABOVE ' : '        ') + kind)
}

/** The payload with another value at a dotted path. */
function put(payload: Given, path: string, value: unknown): Given {
  const [field = '', ...inner] = path.split('.')
  return {
    ...payload,
    [field]: inner.length ? put(payload[field] as Given, inner.join('.'), value) : value,
  }
}

/** Texts as long as a rule allows, and as long as a request may be. A generator, since together they are a gigabyte. */
function* texts(): Generator<Named> {
  for (const characters of [2048, 8192]) yield* textsOf(characters, 2 ** 20, STARTS, ENDS)
  yield* textsOf(MAX_EVENT_BYTES, MAX_EVENT_BYTES, ['', 'https://', 'a@'])
}

function worst(limitMs: number, run: (text: string) => unknown, some: Iterable<Named> = texts()) {
  let ms = 0
  let kind = ''
  for (const [name, text] of some) {
    const cost = costOf(() => run(text), limitMs)
    if (cost > ms) [ms, kind] = [cost, `${name} (${text.length})`]
  }
  return [ms, limitMs, kind] as const
}

/** One field for each rule: other fields with the same rule cost the same. */
const FIELDS: readonly (readonly [Operation, path: string])[] = [
  ['viewHomepage', 'did'],
  ['viewHomepage', 'url'],
  ['viewHomepage', 'http_user_agent'],
  ['viewHomepage', 'remote_addr'],
  ['viewHomepage', 'source'],
  ['setEmail', 'email_address'],
  ['setEmail', 'firstname'],
  ['addToCart', 'product_id'],
  ['addToCart', 'quantity'],
  ['addToCart', 'variation'],
  ['addToCart', 'variation.sku'],
  ['list', 'search'],
  ['create', 'type'],
  ['create', 'content.html'],
  ['create', 'scheduling.send_at'],
  ['create', 'scheduling.use_optimal_time'],
  ['getEmailReport', 'id'],
  ['serveJavascript', 'trackingKey'],
]

console.log(line('a text in one field', 'CPU ms', 'at most'))
for (const [operation, path] of FIELDS) {
  const payload = payloads[operation] ?? {}
  print(
    `${operation}.${path}`,
    ...worst(MAX_EVENT_MS, (text) => validate(operation, put(payload, path, text))),
  )
}

const more = namesToMask(Array.from({ length: 100 }, (_, at) => `${at}${'x'.repeat(125)}`).join())
// All fields at once, each as long as its rule allows, so that no check ends early.
const BOUNDS: { readonly [field: string]: number } = {
  did: 128,
  event: 128,
  url: 8192,
  source: 2048,
}
console.log(line('\nall fields of a payload', 'CPU ms', 'at most'))
for (const [operation, payload] of operations) {
  let ms = 0
  let worstKind = ''
  for (const { kind, make } of kinds) {
    const fill = (payload: Given): Given =>
      Object.fromEntries(
        Object.entries(payload).map(([field, value]) => {
          if (value && typeof value === 'object') return [field, fill(value as Given)]
          if (typeof value !== 'string') return [field, value]
          const text = cutTo(make(BOUNDS[field] ?? 2048), BOUNDS[field] ?? 2048, 2 ** 20)
          if (field === 'url') return [field, `https://a/${text.slice(10)}`]
          return [field, text]
        }),
      )
    const filled = fill(payload)
    const cost = costOf(() => {
      const { event } = filled
      if (event) findOperation(filled)
      const checked = validate(operation, filled)
      if (!checked.ok) return
      const { url } = checked.payload as Given
      return JSON.stringify({ ...checked.payload, url: maskArrived(`${url ?? ''}`, more) })
    }, MAX_EVENT_MS)
    if (cost > ms) [ms, worstKind] = [cost, kind]
  }
  print(operation, ms, MAX_EVENT_MS, worstKind)
}

const campaign = payloads.create ?? {}
function* pages(): Generator<Named> {
  for (const characters of [512_000, 512_021, 2_000_000]) yield* textsOf(characters, 2 ** 23)
}
print(
  'create, HTML of 512,000 and more',
  ...worst(MAX_BATCH_MS, (html) => validate('create', { ...campaign, content: { html } }), pages()),
)

console.log(line('\nthe rest', 'CPU ms', 'at most'))
print('findOperation', ...worst(MAX_EVENT_MS, (event) => findOperation({ event, variation: {} })))
const names = new Map([['own', 'search' as const]])
print(
  'findOperation, e-mail, prefix',
  ...worst(MAX_EVENT_MS, (text) => findOperation({ event: 'x_own', email: text }, names, 'x_')),
)
print('isbot', ...worst(MAX_EVENT_MS, (text) => isbot(text), textsOf(1024, 2 ** 20, STARTS, ENDS)))
for (const [what, mask] of [
  ['maskUrl, in the page', maskUrl],
  ['maskArrived', maskArrived],
] as const)
  print(
    what,
    ...worst(MAX_EVENT_MS, (url) => mask(url, more), textsOf(8192, 2 ** 20, STARTS, ENDS)),
  )

// Bodies: every kind as a text in JSON, and JSON whose structure is expensive to parse.
const forms: Record<string, (bytes: number) => string> = {
  'nested lists': (bytes) => '['.repeat(bytes),
  'nested objects': (bytes) => '{"a":'.repeat(bytes / 5),
  'lists that end': (bytes) => `${'['.repeat(bytes / 2)}${']'.repeat(bytes / 2)}`,
  'empty objects': (bytes) => `[${'{},'.repeat(bytes / 3 - 2)}{}]`,
  numbers: (bytes) => `[${'1,'.repeat(bytes / 2 - 2)}1]`,
  'a number without end': (bytes) => '1'.repeat(bytes),
  'keys, all different': (bytes) =>
    `{${Array.from({ length: bytes / 13 }, (_, at) => `"k${`${at}`.padStart(6, '0')}":1`).join()}}`,
  'escaped halves of characters': (bytes) => `{"a":"${'\\ud800'.repeat(bytes / 6 - 2)}"}`,
  'escaped halves, in many texts': (bytes) =>
    `[${Array.from({ length: bytes / 500 }, () => `"${'\\ud800'.repeat(80)}"`).join()}]`,
  'escaped characters': (bytes) => `{"a":"${'\\u5b57'.repeat(bytes / 6 - 2)}"}`,
  'escaped quotes': (bytes) => `{"a":"${'\\"'.repeat(bytes / 2 - 5)}"}`,
  'backslashes without end': (bytes) => `{"a":"${'\\'.repeat(bytes - 10)}`,
  quotes: (bytes) => '"'.repeat(bytes),
  'white space': (bytes) => ' '.repeat(bytes),
  'bytes that are not UTF-8': (bytes) => `"${'\udc80'.repeat(bytes / 3 - 2)}"`,
}
const request = (bytes: number) =>
  new Request('http://gateway.example', {
    method: 'POST',
    headers: { 'content-length': `${bytes}`, 'content-type': 'text/plain' },
  })
for (const [what, maxBytes, limitMs, maxValues] of [
  ['readJson, an event', MAX_EVENT_BYTES, MAX_EVENT_MS, undefined],
  ['readJson, a batch', MAX_BATCH_BYTES, MAX_BATCH_MS, 10_000],
] as const) {
  let ms = 0
  let worstKind = ''
  const bodies = [
    ...Object.entries(forms).map(([kind, make]) => [kind, make(maxBytes)] as const),
    ...kinds.map(
      ({ kind, make }) =>
        [kind, JSON.stringify({ a: cutTo(make(maxBytes), maxBytes, maxBytes - 20) })] as const,
    ),
  ]
  for (const [kind, text] of bodies) {
    const bytes = Buffer.from(text).subarray(0, maxBytes)
    const asked = request(bytes.length)
    const cost = await costOfAsync(() =>
      readJson(asked, async () => bytes, maxBytes, maxValues === undefined ? {} : { maxValues }),
    )
    if (cost > ms) [ms, worstKind] = [cost, kind]
  }
  print(what, ms, limitMs, worstKind)
}

/** How long a URL of a kind may be, so that so many of them cost as much to mask as a batch may. */
function urlRoom(make: Text['make'], events: number): number {
  const cost = maskingCostOf(`https://a/${make(300)}`) / 300
  return cost ? Math.max(1, Math.floor(MAX_BATCH_PARAMETERS / events / cost) - 10) : 8100
}

// A batch of a mebibyte: it is read, then each of its events is checked as in the gateway.
{
  let ms = 0
  let worstKind = ''
  for (const events of [8, 16, 64, MAX_BATCH_EVENTS])
    for (const field of ['url', 'search_term', 'event', 'http_user_agent', 'email'])
      for (const { kind, make } of kinds) {
        const room = Math.floor(MAX_BATCH_BYTES / events) - 300
        const most = field === 'url' ? Math.min(8100, urlRoom(make, events)) : 2000
        const text = cutTo(make(Math.min(room, most)), room, room)
        const payload = {
          ...payloads.search,
          [field]: field === 'url' ? `https://a/${text}` : text,
        }
        const body = Buffer.from(JSON.stringify({ events: Array(events).fill({ payload }) }))
        const asked = request(body.length)
        const cost = await costOfAsync(async () => {
          const read = await readJson(asked, async () => body, MAX_BATCH_BYTES, {
            maxValues: 10_000,
          })
          if (!read.ok) return
          // As in collect.ts: a batch whose URLs cost more is refused.
          const { events: sent } = read.json as { events: { payload: Given }[] }
          if (areTooManyParameters(sent.map((one) => one.payload.url))) return
          for (const { payload: given } of sent) {
            const checked = validate(findOperation(given), given)
            if (!checked.ok) continue
            isbot(checked.payload.http_user_agent)
            JSON.stringify({ ...checked.payload, url: maskArrived(`${given.url}`, more) })
          }
        })
        if (cost > ms) [ms, worstKind] = [cost, `${events} of ${field}: ${kind}`]
      }
  print('a batch, read and checked', ms, MAX_BATCH_MS, worstKind)
}

if (isAbove) process.exitCode = 1
