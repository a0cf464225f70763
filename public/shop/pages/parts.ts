/** Pieces that pages with and without a script share. `base` is the path to the shop's folder: '' or '../'. */
import { findProduct, type Product, type Variation } from '../products.ts'
import { type Html, html } from './html.ts'

/** A product that the pages show. @throws Error if the shop does not have it, so that the build fails. */
export function productOf(id: number): Product {
  const found = findProduct(id)
  if (!found) throw new Error(`The pages of the shop name a product that it does not sell: ${id}`)
  return found
}

export function firstOf({ variations, name }: Product): Variation {
  const [first] = variations
  if (!first) throw new Error(`A product has at least one variation: ${name}`)
  return first
}

export const drawing = (base: string, product: Product, { name, glaze }: Variation): Html => html`
  <svg viewBox="0 0 240 210" role="img" aria-label="${product.name}, ${name}" style="--glaze: ${glaze}"><use href="${base}img/${product.art}.svg#art"/></svg>
`

/** Product and variation of the drawings at the top of the home page. */
const SHOWN = [
  [18, '18-1'],
  [15, '15-1'],
  [12, '12-1'],
] as const

export const hero = (base: string, text: string, link: Html): Html => html`
  <section class="hero" aria-label="Welcome">
    <div>
      <h1>Pots for every day, and tea to put in them.</h1>
      <p>${text}</p>
      ${link}
    </div>
    <div class="row" aria-hidden="true">
      ${SHOWN.map(([id, variationId]) => {
        const { art, variations } = productOf(id)
        const glaze = variations.find((one) => one.id === variationId)?.glaze
        return html`
          <svg aria-hidden="true" viewBox="0 0 240 210" style="--glaze: ${glaze}"><use href="${base}img/${art}.svg#art"/></svg>
        `
      })}
    </div>
  </section>
`

/**
 * The link of the demo campaign, and the link to its report.
 *
 * @param base Path from the page to the shop's folder, '' or '../'.
 */
export const campaignLetter = (base: string): Html => html`
  <aside class="letter" aria-label="This month’s letter">
    <p><b>This month’s letter: the autumn mugs.</b> Its link leads here.</p>
    <p>
      <a href="index.html?utm_campaign=autumn-mugs&amp;utm_medium=email&amp;utm_source=newsletter" data-test="letter-link">Come in by the link</a>
      <a href="${base}../campaigns/?customer=demo&amp;id=autumn-mugs" target="shoptrail-campaigns" data-test="report-link">See its report fill</a>
    </p>
  </aside>
`
