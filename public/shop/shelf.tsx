import { Picture, Sign } from './picture.tsx'
import { money, type Product, type Variation } from './products.ts'

/** Products as tiles, each with a heart for its first variation. */
export function Shelf({
  products,
  isKept,
  onHeart,
}: {
  readonly products: readonly Product[]
  readonly isKept: (product: Product, variation: Variation) => boolean
  readonly onHeart: (product: Product, variation: Variation) => void
}) {
  return (
    <>
      {products.map((product) => {
        const { id, name, lead, tint, variations } = product
        const [variation] = variations
        const prices = variations.map(({ price }) => price)
        const least = Math.min(...prices)
        const from = least === Math.max(...prices) ? '' : 'from '
        return (
          variation && (
            <li key={id} class="card" data-test="product-card" data-id={id}>
              <div class={`tile ${tint}`}>
                <Picture product={product} variation={variation} />
              </div>
              <div class="label">
                <h3>
                  <a href={`product.html?id=${id}`} data-test="product-link">
                    {name}
                  </a>
                </h3>
                <p>{lead}</p>
                <span class="price">
                  {from}
                  {money(least)}
                </span>
              </div>
              <button
                class="heart"
                type="button"
                aria-label={`${name} on the wishlist`}
                aria-pressed={isKept(product, variation)}
                onClick={() => onHeart(product, variation)}
                data-test="toggle-wishlist"
              >
                <Sign name="heart" />
              </button>
            </li>
          )
        )
      })}
    </>
  )
}
