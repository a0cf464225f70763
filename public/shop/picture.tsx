import type { Product, Variation } from './products.ts'

/** The drawing of a product, in the glaze of a variation. */
export function Picture({
  product,
  variation,
}: {
  readonly product: Product
  readonly variation: Variation
}) {
  return (
    <svg
      viewBox="0 0 240 210"
      role="img"
      aria-label={`${product.name}, ${variation.name}`}
      style={{ '--glaze': variation.glaze }}
    >
      <use href={`img/${product.art}.svg#art`} />
    </svg>
  )
}

/** An icon of the shop. */
export function Sign({ name }: { readonly name: 'heart' }) {
  return (
    <svg viewBox="0 0 24 24" aria-hidden="true">
      <use href={`img/signs.svg#${name}`} />
    </svg>
  )
}

/** A small picture at the start of a line. */
export const Thumb = (shown: { readonly product: Product; readonly variation: Variation }) => (
  <span class={`thumb ${shown.product.tint}`}>
    <Picture {...shown} />
  </span>
)
