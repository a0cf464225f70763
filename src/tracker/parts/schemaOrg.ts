import type { Config } from '../config.ts'
import { listen } from '../lib/listen.ts'
import type { Part } from '../parts.ts'

/** The page has this time after its load to report the product in another way (docs/decisions.md, "schema.org"). */
const WAIT_MS = 4000

type Node = { readonly [name: string]: unknown }

const TYPE = /(^|[/:])(Product|ProductGroup|IndividualProduct|ProductModel)$/

/** The first value of a property, as text: it may be a list, a number, or wrapped as `@value`. */
function textOf(value: unknown): string {
  const [one] = [value].flat()
  const plain = (one as Node | undefined)?.['@value'] ?? one
  return typeof plain === 'string' || typeof plain === 'number' ? `${plain}`.trim() : ''
}

/** The path of a URL, which may be relative. Empty if it is not a URL, or a name in the description (`_:b0`). */
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

/** productID, for a group of variants productGroupID, else sku, else the last part of its @id or url. */
const idOf = (product: Node): string =>
  textOf(product.productID) ||
  textOf(product.productGroupID) ||
  textOf(product.sku) ||
  lastPart(product['@id']) ||
  lastPart(product.url)

/** The products that a JSON-LD description is about: at its top level, in a list, in @graph, or as mainEntity. */
function productsIn(node: unknown): Node[] {
  if (Array.isArray(node)) return node.flatMap(productsIn)
  if (!node || typeof node !== 'object') return []
  const { '@type': type, '@graph': graph, mainEntity } = node as Node
  if ([type].flat().some((one) => TYPE.test(`${one}`))) return [node as Node]
  return [...productsIn(graph), ...productsIn(mainEntity)]
}

/** The properties of a microdata item that may contain its id, without those of nested items. */
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
 * Reports the product that a page describes with schema.org, in JSON-LD or microdata, as a viewProduct. Waits first, and
 * reports nothing if the page reports a product in another way meanwhile. If the page is left during the wait, the
 * product is reported then. A page with several products (a category) is not reported, unless one of them has the page's
 * own URL (docs/decisions.md, "schema.org").
 */
export const schemaOrg: Part = (track, _configs, notices) => {
  const only = ({ schemaOrg: setting }: Config) => setting
  let timer = 0
  let path = location.pathname
  /** The product that was reported last. A router may leave its description in the page. */
  let reported = ''

  const notify = (code: string, where: unknown) =>
    notices.emit('dropped', { operation: 'viewProduct', code, where, reason: 'invalid' })

  const find = (): Node[] => {
    const found: Node[] = []
    for (const script of document.querySelectorAll('script[type="application/ld+json" i]'))
      try {
        found.push(...productsIn(JSON.parse(script.textContent ?? '')))
      } catch {
        notify('schema-json', script)
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
    if (ids.length > 1 || (!product_id && products.length > 1))
      return notify('schema-many', products)
    if (!product_id) return products.length && notify('schema-no-id', products)
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
  // Waits for the load first. If the page is left before, it is read then.
  if (document.readyState === 'complete') plan()
  else {
    timer = -1
    listen(window, 'load', () => timer && plan())
  }
}
