import { Parser } from 'htmlparser2'

/** Where a script stands. Only those in the `page` run. */
export type Place = 'page' | 'noscript' | 'template' | 'comment'

export type PageScript = {
  readonly attributes: Readonly<Record<string, string>>
  /** Absolute address of its file. Undefined if it is in the page, or its address is not one. */
  readonly src: string | undefined
  /** Its text, if it has no file. */
  readonly text: string
  readonly place: Place
}

/** What a check wants to know of the HTML of a page. */
export type Page = {
  readonly url: string
  readonly scripts: readonly PageScript[]
  /** Policies in meta elements, and how many scripts stand before each, which it does not bind. */
  readonly metaPolicies: readonly { readonly text: string; readonly scriptsBefore: number }[]
  /** Absolute addresses of links of http and https, each once. */
  readonly links: readonly string[]
  /** Addresses that searches for a word lead to. */
  readonly searches: readonly string[]
  /** What the page says that it was made with. */
  readonly generator: string | undefined
  /** The attributes `data-track` and `data-track-…`, each once. Only `data-track` has its value. */
  readonly trackAttributes: readonly (readonly [name: string, value: string])[]
  /** Whether it describes a product with schema.org. */
  readonly hasProduct: boolean
  /** Whether its elements are nested deeper than the check reads. */
  readonly isTooDeep: boolean
}

/** Chromium nests no deeper than this, and the parser searches its open elements at each end tag. */
const MAX_DEPTH = 512
const CHUNK_CHARACTERS = 8_192
/** What is read of a page. No shop has as much, and a hostile page would cost more than its length. */
const MAX_LINKS = 2_000
const MAX_SCRIPTS = 1_000
const MAX_POLICIES = 20
const MAX_POLICY_CHARACTERS = 8_192
const MAX_FIELDS = 200
const MAX_TRACK_ATTRIBUTES = 200
/** What is kept of an attribute's name or value, to quote it. No helper or field has as much. */
const MAX_QUOTED_CHARACTERS = 60
const MAX_GENERATORS = 3
/** The word that searches look for. */
const SEARCH_WORD = 'test'

/** The types of schema.org that the script takes for a product (src/tracker/parts/schemaOrg.ts). */
const PRODUCT = '(Product|ProductGroup|IndividualProduct|ProductModel)'
const PRODUCT_ITEM = new RegExp(`schema\\.org/${PRODUCT}(\\s|$)`)
const PRODUCT_TYPE = new RegExp(`"@type"\\s*:\\s*(\\[[^\\]]{0,200})?"([^"]{0,100}[/:])?${PRODUCT}"`)

/** Elements without an end tag. */
const VOID = new Set(
  'area base br col embed hr img input link meta param source track wbr'.split(' '),
)

/** Reads the HTML of a page. Takes any text; what is not HTML has no scripts. */
export function readPage(html: string, url: string): Page {
  let base = url
  let depth = 0
  let noscripts = 0
  let templates = 0
  let linksSeen = 0
  let fieldsSeen = 0
  let hasProduct = false
  const generators = new Set<string>()
  let form: Form | undefined
  let open: { attributes: Record<string, string>; text: string; place: Place } | undefined
  const scripts: PageScript[] = []
  const metaPolicies: Page['metaPolicies'][number][] = []
  const links = new Set<string>()
  const searches = new Set<string>()
  const trackAttributes = new Map<string, Page['trackAttributes'][number]>()

  const placeOf = (): Place => (noscripts > 0 ? 'noscript' : templates > 0 ? 'template' : 'page')

  function start(name: string, attributes: Record<string, string>): void {
    if (!VOID.has(name)) depth++
    readTrackAttributes(attributes)
    if (PRODUCT_ITEM.test(attributes.itemtype ?? '')) hasProduct = true
    if (name === 'base' && attributes.href && base === url) base = resolve(attributes.href) ?? base
    else if (name === 'script') open = { attributes, text: '', place: placeOf() }
    else if (name === 'noscript') noscripts++
    else if (name === 'template') templates++
    else if (name === 'meta') readMeta(attributes)
    else if (name === 'a' && attributes.href) addLink(attributes.href)
    else if (name === 'form') form = { action: attributes.action ?? '', method: attributes.method }
    else if (name === 'input') readInput(attributes)
  }

  function readTrackAttributes(attributes: Record<string, string>): void {
    for (const [name, text] of Object.entries(attributes)) {
      if (!/^data-track(-|$)/.test(name) || trackAttributes.size >= MAX_TRACK_ATTRIBUTES) continue
      const value = name === 'data-track' ? text.slice(0, MAX_QUOTED_CHARACTERS) : ''
      const quoted = name.slice(0, MAX_QUOTED_CHARACTERS)
      trackAttributes.set(`${quoted}=${value}`, [quoted, value])
    }
  }

  function end(name: string): void {
    if (!VOID.has(name)) depth--
    if (name === 'script' && open) addScript(open)
    else if (name === 'noscript') noscripts--
    else if (name === 'template') templates--
    else if (name === 'form') form = undefined
  }

  function addScript({ attributes, text, place }: NonNullable<typeof open>): void {
    open = undefined
    const { src } = attributes
    if (/ld\+json/i.test(attributes.type ?? '') && PRODUCT_TYPE.test(text)) hasProduct = true
    keep({ attributes, text, place, src: src === undefined ? undefined : resolve(src) })
  }

  function keep(script: PageScript): void {
    if (scripts.length < MAX_SCRIPTS) scripts.push(script)
  }

  function readMeta({ 'http-equiv': equiv = '', name = '', content = '' }: Record<string, string>) {
    const isPolicy = /^content-security-policy$/i.test(equiv.trim()) && placeOf() === 'page'
    if (isPolicy && metaPolicies.length < MAX_POLICIES)
      metaPolicies.push({
        text: content.slice(0, MAX_POLICY_CHARACTERS),
        scriptsBefore: scripts.length,
      })
    if (/^generator$/i.test(name.trim()) && content.trim() && generators.size < MAX_GENERATORS)
      generators.add(content.trim().slice(0, 30))
  }

  function addLink(href: string): void {
    linksSeen++
    const address = linksSeen > MAX_LINKS ? undefined : resolve(href)
    if (address) links.add(address.replace(/#.*/s, ''))
  }

  /** The field of a form that searches: the address of its results. */
  function readInput({ type = 'text', name = '' }: Record<string, string>): void {
    if (!form || fieldsSeen++ > MAX_FIELDS || /^post$/i.test(form.method ?? '') || !name) return
    const isSearch =
      type.toLowerCase() === 'search' || /^(q|s|search\w*|query|keywords?)$/i.test(name)
    const address = isSearch && resolve(form.action)
    if (!address) return
    const target = new URL(address)
    target.search = ''
    target.hash = ''
    target.searchParams.set(name, SEARCH_WORD)
    searches.add(target.href)
  }

  function resolve(address: string): string | undefined {
    try {
      const { href, protocol } = new URL(address, base)
      return /^https?:$/.test(protocol) ? href : undefined
    } catch {
      return undefined
    }
  }

  const parser = new Parser({
    onopentag: start,
    onclosetag: end,
    ontext(text) {
      if (open) open.text += text
    },
    oncomment(text) {
      for (const [, src = ''] of text.matchAll(
        /<script\b[^<>]{0,999}?\bsrc\s*=\s*["']?([^"'\s>]+)/gi,
      ))
        keep({ attributes: { src }, src: resolve(src), text: '', place: 'comment' })
    },
  })
  let isTooDeep = false
  for (let i = 0; i < html.length && !isTooDeep; i += CHUNK_CHARACTERS) {
    parser.write(html.slice(i, i + CHUNK_CHARACTERS))
    isTooDeep = depth > MAX_DEPTH
  }
  if (!isTooDeep) parser.end()
  return {
    url,
    scripts,
    metaPolicies,
    links: [...links],
    searches: [...searches],
    generator: [...generators].join(', ') || undefined,
    trackAttributes: [...trackAttributes.values()],
    hasProduct,
    isTooDeep,
  }
}

type Form = { readonly action: string; readonly method: string | undefined }

/** Bytes in which a page may name its charset (https://html.spec.whatwg.org/multipage/parsing.html). */
const PRESCAN_BYTES = 1_024

/**
 * The text of a page's body. Its charset is that of a byte order mark, else of the header, else of a meta element, else
 * UTF-8, also if it is unknown.
 */
export function decodePage(body: Uint8Array, contentType = ''): string {
  const named = /charset\s*=\s*["']?([\w.:-]+)/i
  const head = Buffer.from(body.subarray(0, PRESCAN_BYTES)).toString('latin1')
  const label = markOf(body) ?? named.exec(contentType)?.[1] ?? named.exec(head)?.[1] ?? 'utf-8'
  try {
    return new TextDecoder(label).decode(body)
  } catch {
    return new TextDecoder().decode(body)
  }
}

function markOf([first, second, third]: Uint8Array): string | undefined {
  if (first === 0xef && second === 0xbb && third === 0xbf) return 'utf-8'
  if (first === 0xfe && second === 0xff) return 'utf-16be'
  return first === 0xff && second === 0xfe ? 'utf-16le' : undefined
}
