/** The lines of the cart and of the wishlist. */
import type { ComponentChildren } from 'preact'
import { Thumb } from './picture.tsx'
import { findProduct, money, type Product, type Variation } from './products.ts'
import type { StoredLine } from './stores.ts'

/** A stored line with its product and variation. */
export type Line = {
  readonly product: Product
  readonly variation: Variation
  readonly quantity: number
}

/** The stored lines of products that the shop still has. */
export const linesOf = (stored: readonly StoredLine[]): Line[] =>
  stored.flatMap(({ product: id, variation: variationId, quantity }) => {
    const product = findProduct(id)
    const variation = product?.variations.find((one) => one.id === variationId)
    return product && variation ? [{ product, variation, quantity }] : []
  })

export function LineRow({
  line: { product, variation },
  test,
  children,
}: {
  readonly line: Line
  readonly test: string
  /** The line's price and controls. */
  readonly children: ComponentChildren
}) {
  return (
    <li data-test={test} data-variation={variation.id}>
      <Thumb product={product} variation={variation} />
      <div class="name">
        <a href={`product.html?id=${product.id}&v=${variation.id}`}>{product.name}</a>
        <small>{variation.name}</small>
      </div>
      {children}
    </li>
  )
}

export const LinePrice = ({ line: { variation, quantity } }: { readonly line: Line }) => (
  <span class="price sum">{money(variation.price * quantity)}</span>
)

export function LinkButton({
  text,
  test,
  isOff = false,
  onClick,
}: {
  readonly text: string
  readonly test: string
  readonly isOff?: boolean
  readonly onClick: () => void
}) {
  return (
    <button class="link" type="button" disabled={isOff} onClick={onClick} data-test={test}>
      {text}
    </button>
  )
}
