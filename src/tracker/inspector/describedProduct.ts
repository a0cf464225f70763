import { guard } from '../lib/guard.ts'

/** The one product that a page describes. */
export type Product = {
  readonly id: string
  readonly sku: string | undefined
  readonly why: string
}

const isText = (value: unknown): value is string | number =>
  (typeof value === 'string' && value.trim() !== '') || typeof value === 'number'
const own = (value: unknown, name: string): unknown =>
  Object.getOwnPropertyDescriptor(Object(value), name)?.value

/** The product of JSON-LD, of microdata, or of the page's meta elements. Undefined if there are several. */
export function readProduct(page: Document): Product | undefined {
  const described = [...page.querySelectorAll('script[type="application/ld+json"]')]
    .flatMap(({ textContent }) =>
      productsIn(
        guard(() => JSON.parse(textContent ?? '')),
        0,
      ),
    )
    .slice(0, 2)
  const [one, more] = described
  if (one && !more) {
    const texts = ['productID', 'sku', '@id'].map((name) => own(one, name)).filter(isText)
    const sku = own(one, 'sku')
    if (texts[0] !== undefined)
      return {
        id: `${texts[0]}`.replace(/^\w+:(?=\d+$)/, ''),
        sku: isText(sku) ? `${sku}` : undefined,
        why: 'the page describes a product in JSON-LD',
      }
  }
  const items = page.querySelectorAll('[itemtype*="schema.org/Product"]')
  const item = items.length === 1 ? items[0] : undefined
  const id = item && (readItem(item, 'productID') ?? readItem(item, 'sku'))
  if (item && id)
    return { id, sku: readItem(item, 'sku'), why: 'the page describes a product in microdata' }
  const meta = (name: string) =>
    page.querySelector(`meta[property="${name}"]`)?.getAttribute('content')?.trim()
  const retailerId = meta('product:retailer_item_id')
  return meta('og:type') === 'product' && retailerId
    ? { id: retailerId, sku: undefined, why: 'the meta elements of the page describe a product' }
    : undefined
}

/** How deep a description in JSON-LD is read. */
const MAX_DEPTH = 4

/** The products of JSON-LD: on top, in a list or in `@graph`. Those of offers and lists of other products are not. */
function productsIn(value: unknown, depth: number): object[] {
  if (depth > MAX_DEPTH || !value || typeof value !== 'object') return []
  if (Array.isArray(value)) return value.flatMap((one) => productsIn(one, depth + 1))
  const type = own(value, '@type')
  if (([] as unknown[]).concat(type).some((one) => /^(.*\/)?Product(Group)?$/.test(`${one}`)))
    return [value]
  return [
    ...productsIn(own(value, '@graph'), depth + 1),
    ...productsIn(own(value, 'mainEntity'), depth + 1),
  ]
}

/** A property of an element with microdata. */
export function readItem(item: Element, name: string): string | undefined {
  const element = item.querySelector(`[itemprop="${name}"]`)
  return (element?.getAttribute('content') ?? element?.textContent ?? '').trim() || undefined
}
