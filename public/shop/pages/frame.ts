/** The frames of the pages, with and without a script: head, header, footer. */
import { STUB } from '../../../src/tracker/snippet.ts'
import { type Html, html } from './html.ts'

export type Page = {
  readonly title: string
  readonly description: string
  readonly main: Html
  /** The entry of the navigation that leads to this page. */
  readonly current?: 'category' | 'wishlist' | 'cart'
}

/** A page whose script calls the helpers of `track`. */
export const scriptedPage = ({
  name,
  title,
  description,
  main,
  current,
}: Page & { readonly name: string }): Html => html`
  <!doctype html>
  <html lang="en">
    <head>
      ${head({ title, description }, '')}
      <script>${{ text: STUB }}</script>
      <script async src="../t/j/DEMOSHOP"></script>
      <script type="module" src="shop.js"></script>
    </head>
    <body data-page="${name}">
      <a class="skip" href="#main">To the content</a>
      <header>
        <p class="note">
          A demo shop: nothing is for sale. What you do here appears in the <a href="../live/" target="shoptrail-live" data-test="live-link">live view</a>.
        </p>
        <div class="bar">
          <a class="brand" href="index.html" data-test="nav-home">saltmarsh<i></i></a>
          <nav class="main" aria-label="Departments">
            <a href="category.html?c=ceramics" data-test="nav-ceramics">Ceramics</a>
            <a href="category.html?c=tea" data-test="nav-tea">Tea</a>
            <a href="category.html" data-test="nav-all">Everything</a>
          </nav>
          <search>
            <form class="find" action="search.html">
              <input type="search" name="q" placeholder="Search the shelf" aria-label="Search the shop" required data-test="search-input">
              <button type="submit" data-test="search-submit">Search</button>
            </form>
          </search>
          <nav class="own" aria-label="Yours">
            <a href="wishlist.html"${isCurrent(current === 'wishlist')} data-test="nav-wishlist">Wishlist<span class="count" id="wishlist-count">0</span></a>
            <a href="cart.html"${isCurrent(current === 'cart')} data-test="nav-cart">Cart<span class="count" id="cart-count">0</span></a>
          </nav>
        </div>
      </header>
      ${main}
      <footer>
        <div class="inner">
          ${letter(html`
            <form id="newsletter">
              ${NEWSLETTER}
            </form>
            <p class="confirmation" role="status" data-test="newsletter-confirmation"></p>
          `)}
          ${ABOUT}
          <small>
            Every page here loads one script tag and calls its helpers.
            The same shop with no script of its own: <a href="plain/index.html" data-test="plain-link">attributes only</a>.
            <a href="privacy.html" data-test="privacy-link">What this shop records</a>.
            <a href="unsubscribe.html" data-test="unsubscribe-link">No more letters</a>.
            <button type="button" class="link" id="consent-again" hidden data-test="consent-again">Change your answer</button>
          </small>
        </div>
      </footer>
      <section class="consent" id="consent" aria-label="Your consent" hidden data-test="consent">
        <p>
          May this shop recognise your browser? If you agree, it records what you look at together with a number that it keeps in your browser.
          <a href="privacy.html">What it records</a>
        </p>
        <div class="actions">
          <button type="button" class="button" data-track-consent="granted" data-test="consent-granted">Yes, I agree</button>
          <button type="button" class="button" data-track-consent="denied" data-test="consent-denied">No, do not record</button>
        </div>
      </section>
      <div class="toast" role="status" hidden data-test="toast"></div>
    </body>
  </html>
`

/** A page without a script of its own: it reports by attributes and by the dataLayer. */
export const plainPage = ({
  title,
  description,
  main,
  current,
  push,
}: Page & { /** Pushed to the dataLayer, as JavaScript. */ readonly push?: string }): Html => html`
  <!doctype html>
  <html lang="en">
    <head>
      ${head({ title, description }, '../')}
      <script async src="../../t/j/DEMOSHOP"></script>
      ${
        push &&
        html`
          <script>
            window.dataLayer = window.dataLayer || []
            dataLayer.push(${{ text: push }})
          </script>
        `
      }
    </head>
    <body>
      <a class="skip" href="#main">To the content</a>
      <header>
        <p class="note">
          The demo shop with no script of its own: attributes, dataLayer, plain forms.
          <a href="../../live/" target="shoptrail-live" data-test="live-link">Live view</a>
        </p>
        <div class="bar">
          <a class="brand" href="index.html" data-test="nav-home">saltmarsh<i></i></a>
          <nav class="main" aria-label="Departments">
            <a href="category.html"${isCurrent(current === 'category')} data-test="nav-all">Everything</a>
          </nav>
          <search>
            <form class="find" action="search.html" method="get" data-track="search">
              <input type="search" name="q" placeholder="Search the shelf" aria-label="Search the shop" required data-test="search-input">
              <button type="submit" data-test="search-submit">Search</button>
            </form>
          </search>
          <nav class="own" aria-label="Yours">
            <a href="wishlist.html"${isCurrent(current === 'wishlist')} data-test="nav-wishlist">Wishlist</a>
            <a href="cart.html"${isCurrent(current === 'cart')} data-test="nav-cart">Cart</a>
          </nav>
        </div>
      </header>
      ${main}
      <footer>
        <div class="inner">
          ${letter(html`
            <form action="index.html" method="get" data-track="setEmail">
              ${NEWSLETTER}
            </form>
          `)}
          ${ABOUT}
          <small>
            These pages are static: the cart and the wishlist always hold the same things.
            The same shop with helpers: <a href="../index.html" data-test="shop-link">script</a>.
          </small>
        </div>
      </footer>
    </body>
  </html>
`

/** @param base Path from the page to the shop's folder. */
const head = (
  { title, description }: Pick<Page, 'title' | 'description'>,
  base: string,
): Html => html`
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>${title}</title>
  <meta name="description" content="${description}">
  <link rel="icon" href="${base}img/icon.svg" type="image/svg+xml">
  <link rel="stylesheet" href="${base}shop.css">
  <link rel="stylesheet" href="${base}pages.css">
`

const isCurrent = (yes: boolean) => yes && html` aria-current="page"`

const letter = (form: Html): Html => html`
  <div>
    <h2>A letter when the kiln is opened</h2>
    <p>What came out well, what did not, and which tea we drank meanwhile.</p>
    ${form}
  </div>
`

const NEWSLETTER = html`
  <input type="email" name="email" placeholder="you@example.com" aria-label="E-mail for the newsletter" autocomplete="email" required data-test="newsletter-email">
  <button type="submit" class="button" data-test="newsletter-submit">Write to me</button>
`

const ABOUT = html`
  <div>
    <h2>Saltmarsh</h2>
    <p>A pottery and tea shop that exists only as a demo.</p>
  </div>
`
