/** The pages of the shop without a script of its own: everything they report is written in their HTML. */
import { money, type Product, postageOf, type Variation } from '../products.ts'
import { plainPage } from './frame.ts'
import { type Html, html } from './html.ts'
import { campaignLetter, drawing, firstOf, hero, productOf } from './parts.ts'

/** The products of the plain shelf. */
const MUG = productOf(12)
const POT = productOf(15)
const BOWL = productOf(21)
const BOX = productOf(45)
const SHELF = [MUG, POT, BOWL, BOX]
/** The page that reports by the dataLayer instead of by attributes. */
const PUSHING = MUG

const BASE = '../'
const fileOf = (product: Product) =>
  product === PUSHING ? 'product.html' : `product-${product.id}.html`

/** A product with a single variation is reported without it. */
const hasVariations = ({ variations }: Product) => variations.length > 1

const trackVariation = (product: Product, { id, sku }: Variation) =>
  hasVariations(product) && html` data-track-variation-id="${id}" data-track-variation-sku="${sku}"`

function card(product: Product): Html {
  const { id, name, lead, tint, variations } = product
  const prices = variations.map(({ price }) => price)
  const from = new Set(prices).size > 1 ? 'from ' : ''
  const first = firstOf(product)
  return html`
    <li class="card" data-track-product-id="${id}"${trackVariation(product, first)} data-test="product-card" data-id="${id}">
      <div class="tile ${tint}">
        ${drawing(BASE, product, first)}
      </div>
      <div class="label">
        <h3><a href="${fileOf(product)}" data-test="product-link">${name}</a></h3>
        <p>${lead}</p>
        <span class="price">${from}${money(Math.min(...prices))}</span>
        <a class="add" href="cart.html" data-track="addToCart" data-test="quick-add">Add to cart</a>
      </div>
      <a class="heart" href="wishlist.html" data-track="addToWishlist" data-test="add-to-wishlist">
        <svg viewBox="0 0 24 24" aria-hidden="true"><use href="../img/signs.svg#heart"/></svg>
        <span class="sr">${name} to the wishlist</span>
      </a>
    </li>
  `
}

const shelf = html`
  <ul class="shelf" data-test="shelf">
    ${SHELF.map(card)}
  </ul>
`

const index = plainPage({
  title: 'Saltmarsh, plain · pots and tea',
  description: 'The demo shop without a script of its own.',
  push: `{ event: '__sm__view_homepage' }`,
  main: html`
    <main id="main">
      ${hero(
        BASE,
        'This version of the shop has no script. Everything it reports is written in its HTML.',
        html`<a class="button" href="category.html" data-test="hero-link">See the shelf</a>`,
      )}
      ${campaignLetter('../')}
      <div class="head">
        <h2>On the shelf</h2>
      </div>
      ${shelf}
      <section class="product" data-track="viewProduct" data-track-on="visible" data-track-product-id="${BOX.id}" data-test="seen" aria-label="This month">
        <div class="stage ${BOX.tint}">
          ${drawing(BASE, BOX, firstOf(BOX))}
        </div>
        <div class="info">
          <h2>${BOX.name}</h2>
          <p class="lead">${BOX.lead}</p>
          <p>${BOX.text}</p>
          <p><a href="${fileOf(BOX)}">Have a look</a></p>
        </div>
      </section>
    </main>
  `,
})

const category = plainPage({
  title: 'The shelf · Saltmarsh, plain',
  description: 'Everything on the plain shelf.',
  current: 'category',
  main: html`
    <main id="main">
      <div class="head">
        <h1>Everything</h1>
        <p>${SHELF.length} things on the shelf</p>
      </div>
      <h2 class="sr">Products</h2>
      ${shelf}
    </main>
  `,
})

const search = plainPage({
  title: 'Search · Saltmarsh, plain',
  description: 'Search the plain shelf.',
  main: html`
    <main id="main">
      <div class="head">
        <h1>What we found</h1>
        <p>Without a server, every search finds the whole shelf</p>
      </div>
      <h2 class="sr">Products</h2>
      ${shelf}
    </main>
  `,
})

function offer(product: Product, variation: Variation): Html {
  const { id, name, price, glaze, soldOut } = variation
  const off = soldOut && html` disabled`
  return html`
    <div class="offer"${trackVariation(product, variation)} data-test="offer" data-variation="${id}">
      <i style="--glaze: ${glaze}"></i>
      <strong>${name}</strong>
      <span class="price">${money(price)}</span>
      <form action="wishlist.html" method="get" data-track="addToWishlist">
        <button type="submit" class="link" data-test="add-to-wishlist">Keep</button>
      </form>
      <form class="actions" action="cart.html" method="get" data-track="addToCart" data-track-quantity-from="#quantity-${id}">
        <input class="amount" id="quantity-${id}" name="quantity" type="number" min="1" max="99" value="1" aria-label="Quantity, ${name}"${off} data-test="quantity">
        <button type="submit" class="button"${off} data-test="add-to-cart">${soldOut ? 'Sold out' : 'Add to cart'}</button>
      </form>
    </div>
  `
}

const notify = (product: Product, { name }: Variation): Html => html`
  <form class="panel" action="${fileOf(product)}" method="get" data-track="sendCustom" data-track-event="back_in_stock" data-track-email-from="#notify-email" data-test="notify">
    <strong>${name} comes back with the next firing</strong>
    <label class="field">
      <span>Your e-mail</span>
      <input id="notify-email" type="email" name="email" autocomplete="email" placeholder="you@example.com" required data-test="notify-email">
    </label>
    <button type="submit" class="button" data-test="notify-submit">Tell me when it is back</button>
  </form>
`

function productPage(product: Product): Html {
  const { id, name, lead, text, tint, facts, variations } = product
  const isPushing = product === PUSHING
  const onLoad = !isPushing && html` data-track="viewProduct" data-track-on="load"`
  const soldOut = variations.find((one) => one.soldOut)
  return plainPage({
    title: `${name} · Saltmarsh, plain`,
    description: lead,
    ...(isPushing && { push: `{ event: '__sm__view_product', product_id: ${id} }` }),
    main: html`
      <main id="main"${onLoad} data-track-product-id="${id}">
        <div class="product">
          <div class="stage ${tint}" data-test="picture">
            ${drawing(BASE, product, firstOf(product))}
          </div>
          <div class="info">
            <p class="crumbs"><a href="category.html">Everything</a></p>
            <h1 data-test="product-name">${name}</h1>
            <p class="lead">${lead}</p>
            <p>${text}</p>
            <div>
              ${variations.map((variation) => offer(product, variation))}
            </div>
            ${soldOut && notify(product, soldOut)}
            <ul class="facts">
              ${facts.map((fact) => html`<li>${fact}</li>`)}
            </ul>
          </div>
        </div>
      </main>
    `,
  })
}

/** A line of the cart or of the wishlist; both always contain the same lines. */
type Line = { readonly product: Product; readonly variation: Variation; readonly quantity: number }

function lineOf(product: Product, variationId: string, quantity = 1): Line {
  const variation = product.variations.find(({ id }) => id === variationId)
  if (!variation) throw new Error(`${product.name} has no variation ${variationId}`)
  return { product, variation, quantity }
}

const IN_CART = [lineOf(MUG, '12-1', 2), lineOf(BOX, '45')]
const KEPT = [lineOf(MUG, '12-2'), lineOf(BOX, '45')]

const row = ({ product, variation, quantity }: Line, test: string, actions: Html): Html => html`
  <li data-track-product-id="${product.id}"${trackVariation(product, variation)}${quantity > 1 && html` data-track-quantity="${quantity}"`} data-test="${test}" data-variation="${variation.id}">
    <span class="thumb ${product.tint}">
      ${drawing(BASE, product, variation)}
    </span>
    <div class="name"><a href="${fileOf(product)}">${product.name}</a><small>${variation.name}${quantity > 1 && `, ${quantity} of them`}</small></div>
    <span class="price sum">${money(variation.price * quantity)}</span>
    <div class="actions">
      ${actions}
    </div>
  </li>
`

/** A form with one button: it reports, and opens the page of the cart or the wishlist. */
const action = (page: string, operation: string, test: string, name: string): Html => html`
  <form action="${page}" method="get" data-track="${operation}"><button type="submit" class="link" data-test="${test}">${name}</button></form>
`

function totals(link?: Html): Html {
  const sum = IN_CART.reduce((all, { variation, quantity }) => all + variation.price * quantity, 0)
  const postage = postageOf(sum)
  return html`
    <aside class="totals" aria-label="Total">
      <div><span>Things</span><span class="price">${money(sum)}</span></div>
      <div><span>Post</span><span class="price">${postage ? money(postage) : 'free'}</span></div>
      <div class="all"><span>Total</span><span class="price">${money(sum + postage)}</span></div>
      ${link}
    </aside>
  `
}

const cart = plainPage({
  title: 'Cart · Saltmarsh, plain',
  description: 'Your cart.',
  current: 'cart',
  main: html`
    <main id="main">
      <div class="head"><h1>Cart</h1></div>
      <div class="split">
        <ul class="lines" data-test="cart-lines">
          ${IN_CART.map((line) => row(line, 'cart-line', action('cart.html', 'removeFromCart', 'remove-from-cart', 'Remove')))}
        </ul>
        ${totals(html`<a class="button" href="checkout.html" data-test="go-to-checkout">Check out</a>`)}
      </div>
    </main>
  `,
})

const KEPT_ACTIONS = html`
  ${action('cart.html', 'addToCart', 'add-to-cart', 'Add to cart')}
  ${action('wishlist.html', 'removeFromWishlist', 'remove-from-wishlist', 'Remove')}
`

const wishlist = plainPage({
  title: 'Wishlist · Saltmarsh, plain',
  description: 'What you kept for later.',
  current: 'wishlist',
  main: html`
    <main id="main">
      <div class="head"><h1>Wishlist</h1></div>
      <ul class="lines" data-test="wishlist-lines">
        ${KEPT.map((line) => row(line, 'wishlist-line', KEPT_ACTIONS))}
      </ul>
    </main>
  `,
})

const checkout = plainPage({
  title: 'Checkout · Saltmarsh, plain',
  description: 'Where should it go?',
  push: `{ event: '__sm__initiate_checkout' }`,
  main: html`
    <main id="main">
      <div class="head"><h1>Checkout</h1></div>
      <div class="split">
        <form class="form" action="index.html" method="get" data-track="setEmail" data-track-firstname-from="#order-firstname" data-track-lastname-from="#order-lastname" data-track-phone-from="#order-phone">
          <label class="field wide">
            <span>E-mail</span>
            <input id="order-email" type="email" name="email" autocomplete="email" required data-test="checkout-email">
          </label>
          <label class="field">
            <span>First name</span>
            <input id="order-firstname" type="text" name="firstname" autocomplete="given-name" required data-test="checkout-firstname">
          </label>
          <label class="field">
            <span>Last name</span>
            <input id="order-lastname" type="text" name="lastname" autocomplete="family-name" required data-test="checkout-lastname">
          </label>
          <label class="field wide">
            <span>Phone, for the courier</span>
            <input id="order-phone" type="tel" name="phone" autocomplete="tel" data-test="checkout-phone">
          </label>
          <button type="submit" class="button wide" data-test="place-order">Place order</button>
        </form>
        ${totals()}
      </div>
    </main>
  `,
})

/** The pages by file name. */
export const PLAIN_PAGES: Readonly<Record<string, Html>> = {
  index,
  category,
  search,
  cart,
  wishlist,
  checkout,
  ...Object.fromEntries(
    SHELF.map((product) => [fileOf(product).replace('.html', ''), productPage(product)]),
  ),
}
