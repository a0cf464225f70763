import type { Config } from '../config.ts'
import { listen } from '../lib/listen.ts'
import type { Part } from '../parts.ts'

/**
 * The page gets so long after its load to report the product itself, ms: shop plugins push 1 to 2
 * seconds after theirs (docs/decisions.md, "schema.org").
 */
const WAIT_MS = 4000

type Node = { readonly [name: string]: unknown }

const TYPE = /(^|[/:])(Product|ProductGroup|IndividualProduct|ProductModel)$/

/** The first value of a property, as text: it may be a list, a number, or wrapped as `@value`. */
function textOf(value: unknown): string {
  const [one] = [value].flat()
  const plain = (one as Node | undefined)?.['@value'] ?? one
  return typeof plain === 'string' || typeof plain === 'number' ? `${plain}`.trim() : ''
}

/**
 * The path of an address, which may be relative to the page; none where it is no address, or a name
 * within the description (`_:b0`).
 */
function pathOf(address: unknown): string {
  const text = textOf(address)
  try {
    return text && !text.startsWith('_:') ? new URL(text, location.href).pathname : ''
  } catch {
    return ''
  }
}

const lastPart = (address: unknown): string =>
  pathOf(address).split('/').filter(Boolean).pop() ?? ''

/** productID (of a group of variants productGroupID), else sku, else the last part of its @id or url. */
const idOf = (product: Node): string =>
  textOf(product.productID) ||
  textOf(product.productGroupID) ||
  textOf(product.sku) ||
  lastPart(product['@id']) ||
  lastPart(product.url)

/** Products that JSON-LD says the page is about: at its top, in a list, in @graph, or as mainEntity. */
function productsIn(node: unknown): Node[] {
  if (Array.isArray(node)) return node.flatMap(productsIn)
  if (!node || typeof node !== 'object') return []
  const { '@type': type, '@graph': graph, mainEntity } = node as Node
  if ([type].flat().some((one) => TYPE.test(`${one}`))) return [node as Node]
  return [...productsIn(graph), ...productsIn(mainEntity)]
}

/** An item of microdata, with the properties that tell its id; not those of items inside it. */
function readItem(item: Element): Node {
  const product: { [name: string]: string } = { '@id': item.getAttribute('itemid') ?? '' }
  for (const element of item.querySelectorAll('[itemprop]')) {
    if (element.parentElement?.closest('[itemscope]') !== item) continue
    const value =
      element.getAttribute('content') ??
      element.getAttribute('href') ??
      element.getAttribute('value') ??
      element.textContent ??
      ''
    for (const name of (element.getAttribute('itemprop') ?? '').split(' ')) product[name] ||= value
  }
  return product
}

/**
 * Reports a product page by what it says of itself in schema.org's words, JSON-LD or microdata: one
 * viewProduct a page view, and none where the page reports one in any other way. It waits until the
 * page has had its chance, or is left. A page with several products (a category) reports none, unless
 * one of them has the page's own address.
 */
export const schemaOrg: Part = (track, _configs, notices) => {
  const only = ({ schemaOrg: setting }: Config) => setting
  let timer = 0
  let path = location.pathname
  /** The product this reader reported last: a router may leave its description behind. */
  let reported = ''

  const tell = (code: string, where: unknown) =>
    notices.tell('dropped', { operation: 'viewProduct', code, where, reason: 'invalid' })

  const find = (): Node[] => {
    const found: Node[] = []
    for (const script of document.querySelectorAll('script[type="application/ld+json" i]'))
      try {
        found.push(...productsIn(JSON.parse(script.textContent ?? '')))
      } catch {
        tell('schema-json', script)
      }
    if (found.length) return found
    return [...document.querySelectorAll('[itemscope][itemtype]:not([itemprop])')]
      .filter((item) => TYPE.test(item.getAttribute('itemtype') ?? ''))
      .map(readItem)
  }

  const isHere = ({ url, '@id': id }: Node) =>
    [url, id].some((address) => pathOf(address) === location.pathname)

  const report = () => {
    clearTimeout(timer)
    timer = 0
    const products = find()
    const idsOf = (some: Node[]) => [...new Set(some.map(idOf))].filter(Boolean)
    let ids = idsOf(products)
    if (ids.length > 1) ids = idsOf(products.filter(isHere))
    const [product_id] = ids
    if (ids.length > 1 || (!product_id && products.length > 1)) return tell('schema-many', products)
    if (!product_id) return products.length && tell('schema-no-id', products)
    if (product_id === reported) return
    reported = product_id
    return track('viewProduct', { product_id }, { from: 'schemaOrg', where: products, only })
  }
  const plan = () => {
    clearTimeout(timer)
    timer = setTimeout(report, WAIT_MS)
  }

  notices.on('accepted', ({ operation, payload }) => {
    if (operation === 'viewProduct') {
      clearTimeout(timer)
      timer = 0
      reported = `${(payload as { product_id?: unknown }).product_id}`
    } else if (path !== location.pathname) plan() // The first event of a page that a router shows.
    path = location.pathname
  })
  listen(window, 'pagehide', () => timer && report())
  // Until it has loaded, the page has its chance; one that is left before is read when it is left.
  if (document.readyState === 'complete') plan()
  else {
    timer = -1
    listen(window, 'load', () => timer && plan())
  }
}
